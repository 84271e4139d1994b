package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// maxLine is the maximum length of an input line in bytes.
const maxLine = 4096

// terminal returns the standard input and reports whether it is a terminal.
func (a *app) terminal() (*os.File, bool) {
	f, ok := a.stdin.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// newPassword reads a new password. On a terminal it asks for the password twice, without echo. If
// the input is not a terminal or asLine is set, it reads one line.
func (a *app) newPassword(ctx context.Context, username string, asLine bool) (string, error) {
	tty, ok := a.terminal()
	if !ok || asLine {
		password, err := a.readLine(ctx)
		if err == nil && password == "" {
			err = errors.New("no password was given on standard input")
		}
		return password, err
	}
	first, err := a.ask(ctx, tty, "New password of "+username+": ")
	if err != nil {
		return "", err
	}
	second, err := a.ask(ctx, tty, "Repeat the password: ")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", errors.New("the two passwords differ; nothing was changed")
	}
	return first, nil
}

// ask reads a password from a terminal without echo. When ctx ends, ask restores the echo.
func (a *app) ask(ctx context.Context, tty *os.File, prompt string) (string, error) {
	fd := int(tty.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	fmt.Fprint(a.stderr, prompt)
	defer fmt.Fprintln(a.stderr)
	password, err := await(ctx, func() (string, error) {
		b, err := term.ReadPassword(fd)
		return string(b), err
	})
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), term.Restore(fd, before))
	}
	return password, err
}

// confirm asks a question on the terminal and reports whether the answer is yes.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(a.stderr, question+" [y/N] ")
	answer, err := a.readLine(ctx)
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", err
}

// readLine reads a line from standard input and returns it without the line ending.
func (a *app) readLine(ctx context.Context) (string, error) {
	return await(ctx, func() (string, error) {
		line, err := bufio.NewReader(io.LimitReader(a.stdin, maxLine)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return strings.TrimRight(line, "\r\n"), err
	})
}

// await calls fn and returns its result. If ctx ends first, await returns ctx.Err() and fn
// continues in the background.
func await(ctx context.Context, fn func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := fn()
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
