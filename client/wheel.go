// Package client holds the Python client and makes the wheel that pip installs.
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
	"regexp"
	"time"
)

//go:embed python/tracker/*.py python/tracker/py.typed
var sources embed.FS

// distribution is the name of the package as files have it; pip spells it
// with a hyphen.
const distribution = "tracker_client"

// Wheel is a Python package, ready to be installed (PEP 427).
type Wheel struct {
	Name string // of the file
	Body []byte
	Hash string // SHA-256 of the body, lowercase hex
}

var versionLine = regexp.MustCompile(`(?m)^__version__ = "([^"]+)"$`)

// built is fixed, so that the same sources are always the same bytes.
var built = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// PythonWheel makes the wheel of the Python client. It is the same for the
// same program.
func PythonWheel() (Wheel, error) {
	root, err := fs.Sub(sources, "python")
	if err != nil {
		return Wheel{}, err
	}
	initial, err := fs.ReadFile(root, "tracker/__init__.py")
	if err != nil {
		return Wheel{}, err
	}
	found := versionLine.FindSubmatch(initial)
	if found == nil {
		return Wheel{}, fmt.Errorf("tracker/__init__.py does not say its version")
	}
	version := string(found[1])
	w := wheelWriter{}
	w.zip = zip.NewWriter(&w.body)
	err = fs.WalkDir(root, "tracker", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		return w.add(path, data)
	})
	if err != nil {
		return Wheel{}, err
	}
	return w.finish(version)
}

type wheelWriter struct {
	body   bytes.Buffer
	zip    *zip.Writer
	record bytes.Buffer // path, hash and size of each file, a line each
}

func (w *wheelWriter) add(path string, data []byte) error {
	sum := sha256.Sum256(data)
	fmt.Fprintf(&w.record, "%s,sha256=%s,%d\n", path, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
	return w.write(path, data)
}

func (w *wheelWriter) write(path string, data []byte) error {
	file, err := w.zip.CreateHeader(&zip.FileHeader{Name: path, Method: zip.Deflate, Modified: built})
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return err
}

func (w *wheelWriter) finish(version string) (Wheel, error) {
	info := distribution + "-" + version + ".dist-info/"
	err := w.add(info+"METADATA", []byte("Metadata-Version: 2.1\nName: tracker-client\nVersion: "+version+
		"\nSummary: Log machine-learning runs to a tracker server\nLicense: Apache-2.0\nRequires-Python: >=3.9\n"))
	if err == nil {
		err = w.add(info+"WHEEL", []byte("Wheel-Version: 1.0\nGenerator: tracker\nRoot-Is-Purelib: true\nTag: py3-none-any\n"))
	}
	if err == nil {
		fmt.Fprintf(&w.record, "%sRECORD,,\n", info)
		err = w.write(info+"RECORD", w.record.Bytes())
	}
	if err == nil {
		err = w.zip.Close()
	}
	if err != nil {
		return Wheel{}, err
	}
	sum := sha256.Sum256(w.body.Bytes())
	return Wheel{
		Name: distribution + "-" + version + "-py3-none-any.whl",
		Body: w.body.Bytes(),
		Hash: hex.EncodeToString(sum[:]),
	}, nil
}
