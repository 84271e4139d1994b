// Package client contains the Python client and builds the wheels that pip
// installs.
package client

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

//go:embed python/tracker/*.py python/tracker/py.typed
var sources embed.FS

// license holds the licence of this module. The file is a copy of LICENSE in the module's root,
// because go:embed can't read parent folders.
//
//go:embed LICENSE
var license []byte

// Names of the packages, in the form used in the file names of wheels.
const (
	distribution       = "runtracker"
	formerDistribution = "tracker_client"
)

// Wheel is a Python package, ready to be installed (PEP 427).
type Wheel struct {
	Name  string // file name of the wheel
	Body  []byte
	Hash  string // SHA-256 of Body, lowercase hex
	Files []File // files in the order of the archive, without RECORD
}

// File describes one file in a wheel.
type File struct {
	Path string
	Size int
	Hash string // SHA-256 of the content, lowercase hex
}

// platforms maps GOOS/GOARCH to the platform tag of a wheel with the program. The program is linked
// statically, so on Linux it needs neither glibc nor musl. Go 1.26 requires macOS 12.
var platforms = map[string]string{
	"linux/amd64":   "manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":   "manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64":  "macosx_12_0_x86_64",
	"darwin/arm64":  "macosx_12_0_arm64",
	"windows/amd64": "win_amd64",
}

// Targets returns the sorted GOOS/GOARCH pairs that a wheel with the program can support.
func Targets() []string { return slices.Sorted(maps.Keys(platforms)) }

// built is the modification time of all files in a wheel. It is constant, so the same sources
// produce the same bytes.
var built = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// Program is an executable built from this module.
type Program struct {
	Content []byte
	Build   *debug.BuildInfo // build settings and modules
	// Licenses maps paths in the wheel to the licences of third-party code in the program.
	Licenses map[string][]byte
}

// PythonWheel returns the wheel of the Python client. If p is not nil, the wheel also installs
// p as the command tracker, and works only on the system for which p was built. The same input
// produces the same bytes. PythonWheel returns an error if p is not linked statically, or if
// platforms has no tag for its system.
func PythonWheel(p *Program) (Wheel, error) { return pythonWheel(distribution, p) }

func pythonWheel(distribution string, p *Program) (Wheel, error) {
	w := wheelWriter{distribution: distribution, platform: "any", licenses: map[string][]byte{"LICENSE": license}}
	w.zip = zip.NewWriter(&w.body)
	if err := w.addSources(); err != nil {
		return Wheel{}, err
	}
	if p != nil {
		maps.Copy(w.licenses, p.Licenses)
		if err := w.addProgram(p); err != nil {
			return Wheel{}, err
		}
	}
	return w.finish()
}

type wheelWriter struct {
	distribution, platform string
	licenses               map[string][]byte // keyed by path in the wheel
	body                   bytes.Buffer
	zip                    *zip.Writer
	record                 bytes.Buffer // lines of RECORD: path, hash and size of each file
	files                  []File
}

func (w *wheelWriter) addSources() error {
	root, err := fs.Sub(sources, "python")
	if err != nil {
		return err
	}
	return fs.WalkDir(root, "tracker", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		return w.add(path, data, 0o644)
	})
}

// addProgram adds p as a script. Installers copy a script to a folder on the PATH without
// changing its bytes.
func (w *wheelWriter) addProgram(p *Program) error {
	settings := map[string]string{}
	for _, s := range p.Build.Settings {
		settings[s.Key] = s.Value
	}
	system := settings["GOOS"] + "/" + settings["GOARCH"]
	platform, ok := platforms[system]
	switch {
	case !ok:
		return fmt.Errorf("there is no wheel with the program for %s", system)
	case settings["CGO_ENABLED"] != "0":
		return fmt.Errorf("the program needs libraries of the system that it was built on: build it with CGO_ENABLED=0")
	}
	w.platform = platform
	name := "tracker"
	if settings["GOOS"] == "windows" {
		name += ".exe"
	}
	return w.add(fmt.Sprintf("%s-%s.data/scripts/%s", w.distribution, Version(), name), p.Content, 0o755)
}

// add writes a file to the wheel, and its line to the record.
func (w *wheelWriter) add(path string, data []byte, mode fs.FileMode) error {
	sum := sha256.Sum256(data)
	fmt.Fprintf(&w.record, "%s,sha256=%s,%d\n", path, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
	w.files = append(w.files, File{path, len(data), hex.EncodeToString(sum[:])})
	return w.write(path, data, mode)
}

func (w *wheelWriter) write(path string, data []byte, mode fs.FileMode) error {
	header := &zip.FileHeader{Name: path, Method: zip.Deflate, Modified: built}
	header.SetMode(mode)
	file, err := w.zip.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return err
}

// finish adds the metadata files and returns the complete wheel.
func (w *wheelWriter) finish() (Wheel, error) {
	info := w.distribution + "-" + Version() + ".dist-info/"
	for _, file := range []struct{ name, text string }{
		{"METADATA", w.metadata()},
		{"WHEEL", w.tags()},
		{"entry_points.txt", w.entryPoints()},
	} {
		if err := w.add(info+file.name, []byte(file.text), 0o644); err != nil {
			return Wheel{}, err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(w.licenses)) {
		if err := w.add(info+"licenses/"+path, w.licenses[path], 0o644); err != nil {
			return Wheel{}, err
		}
	}
	fmt.Fprintf(&w.record, "%sRECORD,,\n", info)
	// The record does not list its own hash.
	if err := w.write(info+"RECORD", w.record.Bytes(), 0o644); err != nil {
		return Wheel{}, err
	}
	if err := w.zip.Close(); err != nil {
		return Wheel{}, err
	}
	sum := sha256.Sum256(w.body.Bytes())
	return Wheel{
		Name:  fmt.Sprintf("%s-%s-py3-none-%s.whl", w.distribution, Version(), w.platform),
		Body:  w.body.Bytes(),
		Hash:  hex.EncodeToString(sum[:]),
		Files: w.files,
	}, nil
}

func (w *wheelWriter) metadata() string {
	summary := "Log machine-learning runs to a tracker server"
	if w.platform != "any" {
		summary = "Record machine-learning experiments: the server, its dashboard and the Python client"
	}
	text := fmt.Sprintf("Metadata-Version: 2.4\nName: %s\nVersion: %s\nSummary: %s\nLicense-Expression: Apache-2.0\n",
		strings.ReplaceAll(w.distribution, "_", "-"), Version(), summary)
	for _, path := range slices.Sorted(maps.Keys(w.licenses)) {
		text += "License-File: " + path + "\n"
	}
	return text + "Requires-Python: >=3.9\n"
}

func (w *wheelWriter) tags() string {
	text := fmt.Sprintf("Wheel-Version: 1.0\nGenerator: tracker\nRoot-Is-Purelib: %t\n", w.platform == "any")
	for tag := range strings.SplitSeq(w.platform, ".") {
		text += "Tag: py3-none-" + tag + "\n"
	}
	return text
}

// entryPoints returns the text of entry_points.txt. It defines a command with the name of the
// distribution, because uvx and pipx run that command. A wheel with the program also defines a
// button in JupyterLab's launcher.
func (w *wheelWriter) entryPoints() string {
	text := "[console_scripts]\nruntracker = tracker._program:main\n"
	if w.platform != "any" {
		text += "\n[jupyter_serverproxy_servers]\ntracker = tracker._jupyter:server\n"
	}
	return text
}
