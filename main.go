// Tracker records machine-learning experiments. It is one program that stores its data in one
// SQLite file.
package main

import (
	"context"
	"os"

	"tracker/cmd"
)

func main() {
	os.Exit(cmd.Main(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
