package archive

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"tracker/store/json"
)

// Error describes why an archive can't be read.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func refused(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

func damaged(name string, err error) error { return refused("%s can't be read: %v", name, err) }

// Limits for reading an archive.
const (
	maxDirectory = 64 << 20 // bytes; enough for 500,000 files
	maxManifest  = 64 << 20 // bytes
	maxValues    = 600_000  // JSON values in the manifest; each record has one
	maxText      = 1 << 30  // bytes of the README or the report
	// maxRatio is the maximum compression ratio of a file larger than freeRatio bytes. SQLite files
	// are typically compressed to a fifth of their size.
	maxRatio  = 200
	freeRatio = 64 << 20
)

// Archive is an open archive.
type Archive struct {
	Manifest Manifest
	file     *os.File
	files    map[string]*zip.File
}

// Is reports whether the file at path begins like a tracker archive.
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

// Open opens the archive at path and reads its manifest. Open returns an *Error if the file is
// not a valid archive, for example because it contains links, impossible sizes, or unexpected
// file names.
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
		return nil, refused("it is not a valid zip file: %v", err)
	}
	a = &Archive{file: f, files: make(map[string]*zip.File, len(z.File))}
	var stored uint64
	for _, e := range z.File {
		if err := checkEntry(e); err != nil {
			return nil, err
		}
		if a.files[e.Name] != nil {
			return nil, refused("%q is listed twice", e.Name)
		}
		a.files[e.Name] = e
		if stored += e.CompressedSize64; e.CompressedSize64 > uint64(info.Size()) || stored > uint64(info.Size()) {
			return nil, refused("the stated sizes of its files exceed the size of the archive")
		}
	}
	return a, a.readManifest()
}

// checkDirectory returns an error if the zip directory is too large to read into memory.
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
		return refused("its list of files has %d bytes, but at most %d are allowed", directory, min(maxDirectory, uint64(size)))
	}
	return nil
}

// checkEntry returns an error if an archive must not contain the given file.
func checkEntry(e *zip.File) error {
	if !fs.FileMode.IsRegular(e.Mode()) {
		return refused("%q is not a regular file", short(e.Name))
	}
	switch e.Name {
	case ManifestName, ReadmeName, ReportName, DatabaseName:
	default:
		if hash, ok := strings.CutPrefix(e.Name, "artifacts/"); !ok || len(hash) != 67 || !isHash(hash[3:]) || hash[:3] != hash[3:5]+"/" {
			return refused("%q is not a valid file name in an archive", short(e.Name))
		}
		if e.Method != zip.Store || e.UncompressedSize64 != e.CompressedSize64 {
			return refused("%q is compressed, but artifacts in an archive must not be", e.Name)
		}
	}
	if e.Method != zip.Store && e.Method != zip.Deflate {
		return refused("%q is compressed with an unknown method", e.Name)
	}
	if e.UncompressedSize64 > freeRatio && e.UncompressedSize64/maxRatio > e.CompressedSize64 {
		return refused("%q would decompress to %d bytes from %d, more than any database", e.Name, e.UncompressedSize64, e.CompressedSize64)
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
		return refused("its %s has %d bytes, but at most %d are allowed", ManifestName, e.UncompressedSize64, maxManifest)
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
		return refused("its %s has %d values, but at most %d are allowed", ManifestName, n, maxValues)
	}
	if err := json.Unmarshal(text, &a.Manifest); err != nil {
		return refused("its %s can't be read: %v", ManifestName, err)
	}
	if a.Manifest.Format != Format {
		return refused("it has the format %d, but this program reads the format %d; use a newer program", a.Manifest.Format, Format)
	}
	for _, f := range a.Manifest.Files {
		e := a.files[f.Name]
		switch {
		case e == nil || strings.HasPrefix(f.Name, "artifacts/"):
			return refused("its %s names the file %q, which it does not have", ManifestName, short(f.Name))
		case f.Size < 0 || e.UncompressedSize64 != uint64(f.Size) || f.Name != DatabaseName && f.Size > maxText:
			return refused("the size of %s differs from the size in its %s", f.Name, ManifestName)
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
		return refused("it has %d artifacts with %d bytes, but according to its %s it has %d with %d", artifacts.Count, artifacts.Bytes,
			ManifestName, a.Manifest.Artifacts.Count, a.Manifest.Artifacts.Bytes)
	}
	return nil
}

// Size returns the uncompressed size of the database and the artifacts, in bytes.
func (a *Archive) Size() int64 {
	return int64(a.files[DatabaseName].UncompressedSize64) + a.Manifest.Artifacts.Bytes
}

// Extract writes the database to a new file at path and checks the database's hash.
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

// Blob returns a reader of an artifact's bytes. If the bytes do not match b.Hash, the reader
// returns an error at the end. The caller must close the reader.
func (a *Archive) Blob(b Blob) (io.ReadCloser, error) {
	if !isHash(b.Hash) {
		return nil, refused("%q is not a SHA-256", short(b.Hash))
	}
	name := blobName(b.Hash)
	e := a.files[name]
	if e == nil {
		return nil, refused("the file %s is missing", name)
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

// Close closes the archive's file.
func (a *Archive) Close() error { return a.file.Close() }
