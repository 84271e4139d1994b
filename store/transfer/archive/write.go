package archive

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"time"

	"tracker/store/json"
)

// Content describes an archive to write.
type Content struct {
	Manifest Manifest // Write sets the fields Format, Files and Artifacts
	Readme   []byte
	Report   []byte
	Database string // path of the database file
	Blobs    []Blob // sorted by hash
	Open     func(Blob) (io.ReadCloser, error)
	// Fast selects fast but weak compression. It is meant for archives that are removed after they
	// have been read once.
	Fast bool
	// Progress is called after each write with the number of bytes just written. Progress can
	// be nil.
	Progress func(n int64)
}

// Write writes an archive to w. Write returns an error if the bytes of an artifact do not match
// their hash.
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
	level := flate.DefaultCompression
	if c.Fast {
		level = flate.BestSpeed
	}
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, level) })
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

// dated is the modification time of all files in an archive. It is the earliest time that zip can
// store. A constant time ensures that equal records produce identical bytes.
var dated = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// counted is a writer that calls progress with the number of bytes of each write.
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

// checked is a reader that returns an error if the content does not have the expected size and
// hash.
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
