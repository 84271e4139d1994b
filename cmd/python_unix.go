//go:build unix

package cmd

import (
	"fmt"
	"syscall"
)

// become replaces this process with a program. The program then receives the signals of this
// process.
func (a *app) become(args []string) error {
	return fmt.Errorf("%s can't be started: %w", args[0], syscall.Exec(args[0], args, a.env))
}
