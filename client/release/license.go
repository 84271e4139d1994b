package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// licenses returns the licences and notices of the third-party code in a program: Go modules,
// the Go standard library, and scripts of the dashboard. It returns an error if any module or
// script has no licence file.
func licenses(ctx context.Context, info *debug.BuildInfo) (map[string][]byte, error) {
	found := map[string][]byte{}
	args := []string{"mod", "download", "-json"}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		args = append(args, module.Path+"@"+module.Version)
	}
	out, err := exec.CommandContext(ctx, "go", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("go mod download: %w", err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var module struct{ Path, Version, Dir string }
		if err := decoder.Decode(&module); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if err := addLicenses(found, module.Path+"@"+module.Version, os.DirFS(module.Dir)); err != nil {
			return nil, err
		}
	}
	for name, dir := range map[string][]string{"go": {"env", "GOROOT"}, "ui": {"list", "-m", "-f", "{{.Dir}}/ui/static"}} {
		out, err := exec.CommandContext(ctx, "go", dir...).Output()
		if err != nil {
			return nil, fmt.Errorf("go %s: %w", strings.Join(dir, " "), err)
		}
		folder := filepath.Clean(strings.TrimSpace(string(out)))
		if err := addLicenses(found, name, os.DirFS(folder)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// addLicenses adds the licence and notice files in root, the root folder of a module, to found. The
// key of each file begins with name. addLicenses returns an error if root has no licence or notice
// file.
func addLicenses(found map[string][]byte, name string, root fs.FS) error {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return err
	}
	count := 0
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !isLicense(entry.Name()) {
			continue
		}
		data, err := fs.ReadFile(root, entry.Name())
		if err != nil {
			return err
		}
		found[path.Join(name, entry.Name())] = data
		count++
	}
	if count == 0 {
		return fmt.Errorf("%s has no file with its licence", name)
	}
	return nil
}

func isLicense(file string) bool {
	name := strings.ToLower(file)
	if strings.HasSuffix(name, ".go") {
		return false
	}
	for _, prefix := range []string{"license", "licence", "copying", "notice", "patents"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.HasSuffix(name, ".license.txt")
}
