// Package archive is the file format of tracker's own archives: a zip file with
//
//	manifest.json     what is in it, with sizes and hashes
//	README.txt        for people
//	report.html       for people
//	tracker.db        the database with just the exported records
//	artifacts/ab/…    the bytes of artifacts under their SHA-256, as in a folder of artifacts
//
// The same records give the same bytes. It knows nothing of what the database has.
package archive

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"tracker/store/json"
)

// Format is the number of the format that this program writes.
const Format = 1

// The names in an archive.
const (
	ManifestName = "manifest.json"
	ReadmeName   = "README.txt"
	ReportName   = "report.html"
	DatabaseName = "tracker.db"
)

// Manifest lists what is in an archive.
type Manifest struct {
	Format int `json:"format"`
	// Scope is what was exported: project, experiment or runs.
	Scope string `json:"scope"`
	// Context has the records, as kind/id, that are there only since others need
	// them: an import makes them where they do not exist.
	Context []string `json:"context"`
	// Base has the fingerprints that records had, by kind/id, when this database and
	// the one that the archive is sent to last agreed. It is there in archives that
	// are sent from one server to another.
	Base map[string]string `json:"base,omitzero"`
	// Counts has the number of records of each kind.
	Counts map[string]int64 `json:"counts"`
	// NotCarried lists in sentences what an archive never has.
	NotCarried []string  `json:"not_carried"`
	Files      []File    `json:"files"`
	Artifacts  Artifacts `json:"artifacts"`
}

// File is one of the files in an archive.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Artifacts are the bytes of artifacts, each of them once.
type Artifacts struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

// Blob is the bytes of artifacts that have the same content.
type Blob struct {
	Hash string
	Size int64
}

func blobName(hash string) string { return "artifacts/" + hash[:2] + "/" + hash }

// Content is what Write puts in an archive.
type Content struct {
	Manifest Manifest // but for Format, Files and Artifacts
	Readme   []byte
	Report   []byte
	Database string // path of the database file
	Blobs    []Blob // sorted by their hashes
	Open     func(Blob) (io.ReadCloser, error)
	// Progress is called with the number of bytes that were written; nil is fine.
	Progress func(n int64)
}

// Write writes an archive. The bytes of each artifact are compared with their hash.
func Write(w io.Writer, c Content) error {
	m := c.Manifest
	m.Format = Format
	m.Files = []File{describe(ReadmeName, c.Readme), describe(ReportName, c.Report)}
	db, err := os.Open(c.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, db)
	if err == nil {
		_, err = db.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	m.Files = append(m.Files, File{DatabaseName, size, hex.EncodeToString(sum.Sum(nil))})
	for _, b := range c.Blobs {
		m.Artifacts.Count++
		m.Artifacts.Bytes += b.Size
	}
	text, err := json.Marshal(m, json.Deterministic(true), json.WithIndent("  "))
	if err != nil {
		return err
	}
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.DefaultCompression) })
	for _, f := range []struct {
		name string
		from io.Reader
	}{
		{ManifestName, bytes.NewReader(append(text, '\n'))},
		{ReadmeName, bytes.NewReader(c.Readme)},
		{ReportName, bytes.NewReader(c.Report)},
		{DatabaseName, db},
	} {
		if err := c.add(z, f.name, zip.Deflate, f.from); err != nil {
			return err
		}
	}
	for _, b := range c.Blobs {
		if err := c.addBlob(z, b); err != nil {
			return err
		}
	}
	return z.Close()
}

func describe(name string, content []byte) File {
	sum := sha256.Sum256(content)
	return File{name, int64(len(content)), hex.EncodeToString(sum[:])}
}

func (c *Content) add(z *zip.Writer, name string, method uint16, from io.Reader) error {
	to, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: dated})
	if err == nil {
		_, err = io.Copy(counted{to, c.Progress}, from)
	}
	return err
}

func (c *Content) addBlob(z *zip.Writer, b Blob) error {
	from, err := c.Open(b)
	if err != nil {
		return err
	}
	defer from.Close()
	return c.add(z, blobName(b.Hash), zip.Store, &checked{r: from, sum: sha256.New(), want: b.Hash, left: b.Size, name: blobName(b.Hash)})
}

// dated is the time of all files, the first one that zip has: the same records give the
// same bytes.
var dated = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// counted reports the bytes that are written.
type counted struct {
	io.Writer
	progress func(int64)
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	if c.progress != nil {
		c.progress(int64(n))
	}
	return n, err
}

// checked reads exactly as many bytes as were announced, and compares their hash.
type checked struct {
	r    io.Reader
	sum  hash.Hash
	want string
	left int64
	name string
}

func (c *checked) Read(p []byte) (int, error) {
	if c.left == 0 {
		switch n, err := c.r.Read(make([]byte, 1)); {
		case n > 0:
			return 0, refused("%s has more bytes than it should", c.name)
		case err != nil && err != io.EOF:
			return 0, damaged(c.name, err)
		}
		if got := hex.EncodeToString(c.sum.Sum(nil)); got != c.want {
			return 0, refused("the bytes of %s do not have the SHA-256 %s", c.name, c.want)
		}
		return 0, io.EOF
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.r.Read(p)
	_, _ = c.sum.Write(p[:n])
	c.left -= int64(n)
	switch {
	case err == io.EOF && c.left > 0:
		return n, refused("%s ends %d bytes too early", c.name, c.left)
	case err == io.EOF:
		err = nil
	case err != nil:
		err = damaged(c.name, err)
	}
	return n, err
}

// Error is why an archive is not read.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func refused(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

func damaged(name string, err error) error { return refused("%s can't be read: %v", name, err) }

// Limits of what is read.
const (
	maxDirectory = 64 << 20 // bytes of the list of files: 500,000 of them
	maxManifest  = 64 << 20 // bytes
	maxValues    = 600_000  // in the manifest, which has one for each record
	maxText      = 1 << 30  // bytes of README and report
	// maxRatio is how many times larger than its compressed form a database may be
	// beyond the first freeRatio bytes. SQLite files shrink to a fifth or so.
	maxRatio  = 200
	freeRatio = 64 << 20
)

// Archive is an archive that is read.
type Archive struct {
	Manifest Manifest
	file     *os.File
	files    map[string]*zip.File
}

// Is reports whether the file at a path begins like an archive of tracker.
func Is(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 30+len(ManifestName))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head[:4]) == "PK\x03\x04" && string(head[30:]) == ManifestName
}

// Open opens the archive at a path and reads its manifest. A file whose directory
// does not fit the format, with paths that lead elsewhere, links or sizes that can't
// be true, is refused with an *Error.
func Open(path string) (a *Archive, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkDirectory(f, info.Size()); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return nil, refused("it is not a zip file that can be read: %v", err)
	}
	a = &Archive{file: f, files: make(map[string]*zip.File, len(z.File))}
	var stored uint64
	for _, e := range z.File {
		if err := checkEntry(e); err != nil {
			return nil, err
		}
		if a.files[e.Name] != nil {
			return nil, refused("%q is there twice", e.Name)
		}
		a.files[e.Name] = e
		if stored += e.CompressedSize64; e.CompressedSize64 > uint64(info.Size()) || stored > uint64(info.Size()) {
			return nil, refused("its files say that they are larger than the archive")
		}
	}
	return a, a.readManifest()
}

// checkDirectory fails when the list of files is too large to be read into memory.
func checkDirectory(f *os.File, size int64) error {
	tail := make([]byte, min(size, 22+1<<16))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return err
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || len(tail)-at < 22 {
		return refused("it is not a zip file, or its end is missing")
	}
	directory := uint64(binary.LittleEndian.Uint32(tail[at+12:]))
	if directory == 1<<32-1 && at >= 20 && string(tail[at-20:at-16]) == "PK\x06\x07" {
		end := make([]byte, 56)
		if _, err := f.ReadAt(end, int64(binary.LittleEndian.Uint64(tail[at-12:])&(1<<62-1))); err != nil {
			return refused("the end of the zip file is damaged")
		}
		directory = binary.LittleEndian.Uint64(end[40:])
	}
	if directory > maxDirectory || directory > uint64(size) {
		return refused("its list of files has %d bytes, which can't be", directory)
	}
	return nil
}

// checkEntry accepts the files that an archive has.
func checkEntry(e *zip.File) error {
	if !fs.FileMode.IsRegular(e.Mode()) {
		return refused("%q is no plain file", short(e.Name))
	}
	switch e.Name {
	case ManifestName, ReadmeName, ReportName, DatabaseName:
	default:
		if hash, ok := strings.CutPrefix(e.Name, "artifacts/"); !ok || len(hash) != 67 || !isHash(hash[3:]) || hash[:3] != hash[3:5]+"/" {
			return refused("%q is no name of a file in an archive", short(e.Name))
		}
		if e.Method != zip.Store || e.UncompressedSize64 != e.CompressedSize64 {
			return refused("%q is compressed, which artifacts in an archive are not", e.Name)
		}
	}
	if e.Method != zip.Store && e.Method != zip.Deflate {
		return refused("%q is compressed in a way that is not known", e.Name)
	}
	if e.UncompressedSize64 > freeRatio && e.UncompressedSize64/maxRatio > e.CompressedSize64 {
		return refused("%q would grow to %d bytes from %d, which no database does", e.Name, e.UncompressedSize64, e.CompressedSize64)
	}
	return nil
}

func short(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}

func isHash(s string) bool {
	return len(s) == 64 && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
}

func (a *Archive) readManifest() error {
	e := a.files[ManifestName]
	if e == nil {
		return refused("it has no %s", ManifestName)
	}
	if e.UncompressedSize64 > maxManifest {
		return refused("its %s has %d bytes, and at most %d are read", ManifestName, e.UncompressedSize64, maxManifest)
	}
	r, err := e.Open()
	if err != nil {
		return damaged(ManifestName, err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxManifest))
	if err != nil {
		return damaged(ManifestName, err)
	}
	if n := json.Values(text); n > maxValues {
		return refused("its %s has %d values, and at most %d are read", ManifestName, n, maxValues)
	}
	if err := json.Unmarshal(text, &a.Manifest); err != nil {
		return refused("its %s is not what it should be: %v", ManifestName, err)
	}
	if a.Manifest.Format != Format {
		return refused("it has the format %d, and this program reads %d; use a newer program", a.Manifest.Format, Format)
	}
	for _, f := range a.Manifest.Files {
		e := a.files[f.Name]
		switch {
		case e == nil || strings.HasPrefix(f.Name, "artifacts/"):
			return refused("its %s names the file %q, which it does not have", ManifestName, short(f.Name))
		case f.Size < 0 || e.UncompressedSize64 != uint64(f.Size) || f.Name != DatabaseName && f.Size > maxText:
			return refused("%s has another size than its %s says", f.Name, ManifestName)
		}
	}
	if !slices.ContainsFunc(a.Manifest.Files, func(f File) bool { return f.Name == DatabaseName }) {
		return refused("its %s has no %s", ManifestName, DatabaseName)
	}
	var artifacts Artifacts
	for name, e := range a.files {
		if strings.HasPrefix(name, "artifacts/") {
			artifacts.Count++
			artifacts.Bytes += int64(e.UncompressedSize64)
		}
	}
	if artifacts != a.Manifest.Artifacts {
		return refused("it has %d artifacts with %d bytes, and its %s says %d with %d", artifacts.Count, artifacts.Bytes,
			ManifestName, a.Manifest.Artifacts.Count, a.Manifest.Artifacts.Bytes)
	}
	return nil
}

// Size returns the number of bytes of the database and the artifacts.
func (a *Archive) Size() int64 {
	return int64(a.files[DatabaseName].UncompressedSize64) + a.Manifest.Artifacts.Bytes
}

// Extract writes the database to a new file and compares it with its hash.
func (a *Archive) Extract(path string) (err error) {
	at := slices.IndexFunc(a.Manifest.Files, func(f File) bool { return f.Name == DatabaseName })
	f := a.Manifest.Files[at]
	from, err := a.files[DatabaseName].Open()
	if err != nil {
		return damaged(DatabaseName, err)
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, &checked{r: from, sum: sha256.New(), want: f.SHA256, left: f.Size, name: DatabaseName})
	return errors.Join(err, to.Close())
}

// Blob returns the bytes of an artifact. Reading fails at the end if they are not
// those of the hash.
func (a *Archive) Blob(b Blob) (io.ReadCloser, error) {
	if !isHash(b.Hash) {
		return nil, refused("%q is no SHA-256", short(b.Hash))
	}
	name := blobName(b.Hash)
	e := a.files[name]
	if e == nil {
		return nil, refused("the bytes %s are not in it", name)
	}
	r, err := e.Open()
	if err != nil {
		return nil, damaged(name, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{&checked{r: r, sum: sha256.New(), want: b.Hash, left: b.Size, name: name}, r}, nil
}

// Close closes the file.
func (a *Archive) Close() error { return a.file.Close() }
