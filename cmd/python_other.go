//go:build !unix

package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// become runs a program and waits for its end. It then exits with the program's exit code.
func (a *app) become(args []string) error {
	c := exec.Command(args[0], args[1:]...)
	c.Env, c.Stdin, c.Stdout, c.Stderr = a.env, a.stdin, a.stdout, a.stderr
	err := c.Run()
	var ended *exec.ExitError
	if err == nil || errors.As(err, &ended) {
		os.Exit(c.ProcessState.ExitCode())
	}
	return fmt.Errorf("%s can't be started: %w", args[0], err)
}
