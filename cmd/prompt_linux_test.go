package cmd

import (
	"bytes"
	"context"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// keyboard is a terminal on which Main runs and the test types.
type keyboard struct {
	t      *testing.T
	master *os.File // the test types by writing to this file
	tty    *os.File // the standard input of Main
	prompt *io.PipeReader
	cancel context.CancelFunc
	done   chan result
}

func startAtTerminal(t *testing.T, args ...string) *keyboard {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	read, write := io.Pipe()
	k := &keyboard{t: t, master: master, tty: tty, prompt: read, cancel: cancel, done: make(chan result, 1)}
	go func() {
		var stdout bytes.Buffer
		code := Main(ctx, args, nil, tty, &stdout, write)
		write.Close()
		k.done <- result{code: code, stdout: stdout.String()}
	}()
	return k
}

// see reads the output of Main until it contains text.
func (k *keyboard) see(text string) {
	k.t.Helper()
	var seen []byte
	for b := make([]byte, 1); !bytes.HasSuffix(seen, []byte(text)); seen = append(seen, b...) {
		if _, err := k.prompt.Read(b); err != nil {
			k.t.Fatalf("%v after %q, which lacks %q", err, seen, text)
		}
	}
}

func (k *keyboard) echoes() bool {
	k.t.Helper()
	state, err := unix.IoctlGetTermios(int(k.tty.Fd()), unix.TCGETS)
	if err != nil {
		k.t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// typeHidden waits until the terminal does not echo input, and types a line.
func (k *keyboard) typeHidden(line string) {
	k.t.Helper()
	for k.echoes() {
		runtime.Gosched()
	}
	k.typeLine(line)
}

func (k *keyboard) typeLine(line string) {
	k.t.Helper()
	if _, err := k.master.WriteString(line + "\n"); err != nil {
		k.t.Fatal(err)
	}
}

// end waits for Main, and checks that the terminal echoes input again.
func (k *keyboard) end() result {
	k.t.Helper()
	said, err := io.ReadAll(k.prompt)
	if err != nil {
		k.t.Fatal(err)
	}
	r := <-k.done
	r.stderr = strings.TrimLeft(string(said), "\n")
	if !k.echoes() {
		k.t.Error("the terminal is left without its echo")
	}
	return r
}

func TestPasswordIsAskedForTwiceWithoutEcho(t *testing.T) {
	seeded(t)
	k := startAtTerminal(t, "reset-password")
	k.see("New password of default: ")
	k.typeHidden("typed by hand")
	k.see("Repeat the password: ")
	k.typeHidden("typed by hand")
	k.end().must(t)
	if !signsIn(t, "default", "typed by hand") {
		t.Error("the password that was typed does not fit")
	}

	k = startAtTerminal(t, "user", "add", "ada")
	k.see("New password of ada: ")
	k.typeHidden("typed by ada")
	k.see("Repeat the password: ")
	k.typeHidden("typed by ada")
	k.end().must(t)
	if !signsIn(t, "ada", "typed by ada") {
		t.Error("the password that was typed does not fit")
	}
}

func TestPasswordsThatDiffer(t *testing.T) {
	seeded(t)
	k := startAtTerminal(t, "reset-password")
	k.see(": ")
	k.typeHidden("typed by hand")
	k.see("Repeat the password: ")
	k.typeHidden("typed by foot")
	k.end().refused(t, 1, "differ")
	if !signsIn(t, "default", adminPassword) {
		t.Error("the password has changed")
	}
}

func TestInterruptGivesTheTerminalItsEchoBack(t *testing.T) {
	seeded(t)
	k := startAtTerminal(t, "reset-password")
	k.see(": ")
	for k.echoes() {
		runtime.Gosched()
	}
	k.cancel()
	k.end().refused(t, 1, "interrupted")
}

func TestDeleteAsksOnATerminal(t *testing.T) {
	seeded(t)
	runMain(t, nil, "long enough\n", "user", "add", "ada").must(t)
	for _, answer := range []string{"", "n", "nay"} {
		k := startAtTerminal(t, "user", "delete", "ada")
		k.see("Delete the account ada and its permissions? [y/N] ")
		k.typeLine(answer)
		k.end().refused(t, 1, "nothing was deleted")
	}
	if _, there := listedUsers(t)["ada"]; !there {
		t.Fatal("the account is gone")
	}
	k := startAtTerminal(t, "user", "delete", "ada")
	k.see("[y/N] ")
	k.typeLine("Yes")
	k.end().must(t)
	if _, there := listedUsers(t)["ada"]; there {
		t.Error("the account is still there")
	}
}
