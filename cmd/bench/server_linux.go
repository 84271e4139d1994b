package bench

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// memory returns the resident memory of the server in bytes, or 0 if it is unknown.
func (s *server) memory() int64 { return s.status("VmRSS:") << 10 }

// peakMemory returns the maximum resident memory of the server in bytes, or 0 if it is unknown.
func (s *server) peakMemory() int64 { return s.status("VmHWM:") << 10 }

// writtenNow returns how many bytes the server has written since its start.
func (s *server) writtenNow() written {
	return written{calls: s.account("io", "wchar:"), disk: s.account("io", "write_bytes:")}
}

// finalWritten waits for the end of the server and returns how many bytes the server has written,
// including its last checkpoint. It does not reap the process, because the kernel drops the
// counters of a reaped process.
func (s *server) finalWritten() written {
	for {
		err := unix.Waitid(unix.P_PID, s.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			return s.writtenNow()
		}
		if err != unix.EINTR {
			return written{}
		}
	}
}

func (s *server) status(name string) int64 { return s.account("status", name) }

// account returns the number with the given name from a file of the server process in /proc. It
// returns 0 if the file or the number is missing.
func (s *server) account(file, name string) (n int64) {
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
