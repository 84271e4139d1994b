package cmd

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// memory is how much memory the server holds, in bytes; 0 when that is not known.
func (s *benchServer) memory() int64 { return s.status("VmRSS:") << 10 }

// peakMemory is the most memory that the server has held until now.
func (s *benchServer) peakMemory() int64 { return s.status("VmHWM:") << 10 }

// writtenNow is what the server has written until now.
func (s *benchServer) writtenNow() benchWritten {
	return benchWritten{calls: s.account("io", "wchar:"), disk: s.account("io", "write_bytes:")}
}

// lastAccount waits for the end of the server and returns what it has written
// in all, its last checkpoint included. The kernel forgets it when the process
// is waited for in the usual way.
func (s *benchServer) lastAccount() benchWritten {
	for {
		err := unix.Waitid(unix.P_PID, s.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			return s.writtenNow()
		}
		if err != unix.EINTR {
			return benchWritten{}
		}
	}
}

func (s *benchServer) status(name string) int64 { return s.account("status", name) }

// account reads a number of what the kernel tells about the process; 0 when it
// is not there.
func (s *benchServer) account(file, name string) (n int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.cmd.Process.Pid, file))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if rest, found := bytes.CutPrefix(line, []byte(name)); found {
			if _, err := fmt.Sscan(string(rest), &n); err != nil {
				return 0
			}
		}
	}
	return n
}
