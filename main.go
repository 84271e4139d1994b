// Tracker records machine-learning experiments: one program, one SQLite file.
package main

import (
	"context"
	"os"

	"tracker/cmd"
)

func main() {
	os.Exit(cmd.Main(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
