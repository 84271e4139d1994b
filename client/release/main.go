// Release builds the program for each system and writes the wheels to publish. It writes one
// wheel for each system, and one wheel that contains only the Python client. It also writes
// SHA256SUMS and CONTENTS. CONTENTS lists the files in each wheel and the Go modules in the
// programs. The wheels contain the licences of these modules. The same sources and the same
// version of Go produce the same bytes.
//
//	go run ./client/release --out dist
//	go run ./client/release --out dist --target native
package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"tracker/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := release(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release runs the command with the given arguments and prints the path of each wheel to
// stdout.
func release(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	folder := flags.String("out", "dist", "`folder` to write to; created if it does not exist")
	chosen := flags.String("target", strings.Join(client.Targets(), ","),
		"`systems` to build the program for, separated by commas; native is this one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: release takes only flags", flags.Arg(0))
	}
	targets := strings.Split(strings.ReplaceAll(*chosen, "native", runtime.GOOS+"/"+runtime.GOARCH), ",")
	for _, target := range targets {
		if !slices.Contains(client.Targets(), target) {
			return fmt.Errorf("there is no wheel for %q; there are %s", target, strings.Join(client.Targets(), ", "))
		}
	}
	if err := os.MkdirAll(*folder, 0o755); err != nil {
		return err
	}
	var sums, contents bytes.Buffer
	for _, target := range append(targets, "") {
		var program *client.Program
		if target != "" {
			var err error
			if program, err = build(ctx, target, stderr); err != nil {
				return fmt.Errorf("%s: %w", target, err)
			}
			if program.Licenses, err = licenses(ctx, program.Build); err != nil {
				return fmt.Errorf("%s: %w", target, err)
			}
		}
		wheel, err := client.PythonWheel(program)
		if err != nil {
			return err
		}
		path := filepath.Join(*folder, wheel.Name)
		if err := os.WriteFile(path, wheel.Body, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", wheel.Hash, wheel.Name)
		if err := list(&contents, wheel, program); err != nil {
			return err
		}
		fmt.Fprintln(stdout, path)
	}
	err := os.WriteFile(filepath.Join(*folder, "SHA256SUMS"), sums.Bytes(), 0o644)
	return errors.Join(err, os.WriteFile(filepath.Join(*folder, "CONTENTS"), contents.Bytes(), 0o644))
}

// build returns the program for target. The build does not depend on the machine: it ignores
// local paths, cgo, flags in the environment, and the state of the checkout.
func build(ctx context.Context, target string, stderr io.Writer) (*client.Program, error) {
	folder, err := os.MkdirTemp("", "tracker-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "tracker")
	system, processor, _ := strings.Cut(target, "/")
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, "tracker")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor, "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1",
		"GOARM64=v8.0")
	c.Stderr = stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	return &client.Program{Content: content, Build: info}, err
}

// list writes the hash, size and path of each file in a wheel. If program is not nil, list also
// writes the modules in the program.
func list(w io.Writer, wheel client.Wheel, program *client.Program) error {
	fmt.Fprintf(w, "%s\n", wheel.Name)
	for _, f := range wheel.Files {
		fmt.Fprintf(w, "  %s %9d %s\n", f.Hash, f.Size, f.Path)
	}
	if program == nil {
		return nil
	}
	info := program.Build
	fmt.Fprintf(w, "  built with %s, from\n", info.GoVersion)
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		fmt.Fprintf(w, "  %s %s %s\n", module.Path, module.Version, module.Sum)
	}
	return nil
}
