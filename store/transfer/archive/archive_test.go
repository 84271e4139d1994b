package archive

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const weights = "weights"

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// written returns an archive with one artifact and a fake database of a few bytes.
func written(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), DatabaseName)
	if err := os.WriteFile(path, []byte("SQLite format 3"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := Write(&out, Content{Database: path, Blobs: []Blob{{hashOf(weights), int64(len(weights))}},
		Open: func(Blob) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(weights)), nil }})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func open(t testing.TB, content []byte) (*Archive, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive.zip")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return Open(path)
}

func TestWriteAndOpen(t *testing.T) {
	a, err := open(t, written(t))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if a.Manifest.Artifacts != (Artifacts{1, 7}) || a.Size() != 15+7 {
		t.Errorf("%+v", a.Manifest)
	}
	path := filepath.Join(t.TempDir(), "x.db")
	if err := a.Extract(path); err != nil {
		t.Fatal(err)
	}
	r, err := a.Blob(Blob{hashOf(weights), 7})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != weights {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := a.Blob(Blob{hashOf("other"), 5}); err == nil {
		t.Error("an artifact that is not there was found")
	}
}

// entry is a file of a malicious zip file.
type entry struct {
	zip.FileHeader
	content string
}

// rewritten returns a copy of an archive. It passes each file to change and then appends the files
// in more.
func rewritten(t testing.TB, from []byte, change func(name, content string) (string, bool), more ...entry) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(from), int64(len(from)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	add := func(h zip.FileHeader, content string) {
		to, err := w.CreateHeader(&h)
		if err == nil {
			_, err = io.WriteString(to, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		text, keep := string(content), true
		if change != nil {
			text, keep = change(f.Name, text)
		}
		if keep {
			add(zip.FileHeader{Name: f.Name, Method: f.Method}, text)
		}
	}
	for _, e := range more {
		add(e.FileHeader, e.content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestHostileArchives(t *testing.T) {
	good := written(t)
	link := zip.FileHeader{Name: blobName(hashOf("x"))}
	link.SetMode(fs.ModeSymlink | 0o777)
	replace := func(name, old, new string) func(string, string) (string, bool) {
		return func(n, content string) (string, bool) {
			if n == name {
				content = strings.Replace(content, old, new, 1)
			}
			return content, true
		}
	}
	without := func(name string) func(string, string) (string, bool) {
		return func(n, content string) (string, bool) { return content, n != name }
	}
	plain := func(name, content string) entry { return entry{zip.FileHeader{Name: name, Method: zip.Store}, content} }
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"a path upwards":        {rewritten(t, good, nil, plain("../evil", "x")), "not a valid file name in an archive"},
		"an absolute path":      {rewritten(t, good, nil, plain("/etc/passwd", "x")), "not a valid file name in an archive"},
		"a path within":         {rewritten(t, good, nil, plain("artifacts/ab/../../evil", "x")), "not a valid file name in an archive"},
		"another folder":        {rewritten(t, good, nil, plain("artifacts/zz/"+hashOf("x"), "x")), "not a valid file name in an archive"},
		"a link":                {rewritten(t, good, nil, entry{link, "/etc/passwd"}), "is not a regular file"},
		"a name twice":          {rewritten(t, good, nil, plain(ReadmeName, "x")), "is listed twice"},
		"a packed artifact":     {rewritten(t, good, nil, entry{zip.FileHeader{Name: blobName(hashOf("x")), Method: zip.Deflate}, "xx"}), "is compressed"},
		"one artifact more":     {rewritten(t, good, nil, plain(blobName(hashOf("x")), "x")), "according to its manifest.json it has 1"},
		"no manifest":           {rewritten(t, good, without(ManifestName)), "has no manifest.json"},
		"no database":           {rewritten(t, good, without(DatabaseName)), "which it does not have"},
		"no JSON":               {rewritten(t, good, replace(ManifestName, "{", "[")), "manifest.json can't be read"},
		"a newer format":        {rewritten(t, good, replace(ManifestName, `"format": 1`, `"format": 2`)), "use a newer program"},
		"another size":          {rewritten(t, good, replace(DatabaseName, "SQLite", "SQLite!")), "differs from the size in its manifest.json"},
		"a bomb":                {rewritten(t, good, replace(DatabaseName, "SQLite", strings.Repeat("\x00", freeRatio+1))), "more than any database"},
		"a manifest of nothing": {rewritten(t, good, replace(ManifestName, `"format": 1`, `"format": 1, "x": [0`+strings.Repeat(",0", maxValues)+"]")), "values, but at most"},
		"no zip":                {[]byte("PK\x03\x04 no zip file"), "its end is missing"},
		"nothing":               {nil, "its end is missing"},
		"half":                  {good[:len(good)/2], "its end is missing"},
		"a directory that lies": {directorySize(good, 1<<31), "its list of files has 2147483648 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := open(t, c.content)
			if err == nil {
				a.Close()
				t.Fatal("it was opened")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %q, without %q", err, c.want)
			}
		})
	}
}

// directorySize returns a zip file whose header claims a directory of n bytes.
func directorySize(content []byte, n uint32) []byte {
	content = bytes.Clone(content)
	at := bytes.LastIndex(content, []byte("PK\x05\x06"))
	content[at+12], content[at+13], content[at+14], content[at+15] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
	return content
}

// TestOtherBytes checks that reading a database or an artifact returns an error if the bytes do not
// match the hash.
func TestOtherBytes(t *testing.T) {
	a, err := open(t, rewritten(t, written(t), func(_, content string) (string, bool) {
		return strings.NewReplacer("SQLite", "sqlITE", "weights", "wEIGHts").Replace(content), true
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Extract(filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(err.Error(), "do not have the SHA-256") {
		t.Errorf("the database: %v", err)
	}
	r, err := a.Blob(Blob{hashOf(weights), 7})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "do not have the SHA-256") {
		t.Errorf("the artifact: %v", err)
	}
}

// FuzzOpen opens arbitrary files and reads their whole content. A damaged file must cause an error,
// not a panic.
func FuzzOpen(f *testing.F) {
	good := written(f)
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add(rewritten(f, good, nil, entry{zip.FileHeader{Name: "../x"}, "x"}))
	f.Fuzz(func(t *testing.T, content []byte) {
		a, err := open(t, content)
		if err != nil {
			return
		}
		defer a.Close()
		_ = a.Extract(filepath.Join(t.TempDir(), "x"))
		if r, err := a.Blob(Blob{hashOf(weights), 7}); err == nil {
			if got, err := io.ReadAll(r); err == nil && string(got) != weights {
				t.Errorf("other bytes: %q", got)
			}
			r.Close()
		}
	})
}

// FuzzManifest reads archives with arbitrary manifests. The allocated memory must be proportional
// to the size of the manifest.
func FuzzManifest(f *testing.F) {
	good := written(f)
	z, err := zip.NewReader(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		f.Fatal(err)
	}
	first, err := z.Open(ManifestName)
	if err != nil {
		f.Fatal(err)
	}
	manifest, err := io.ReadAll(first)
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{string(manifest), `{"format":1,"base":{"":""` + strings.Repeat(`,"x":""`, 2000) + `}}`, `{"files":[{}` + strings.Repeat(`,{}`, 2000) + `]}`,
		`{"counts":{"a":1},"context":[""],"files":[{"name":"../x","size":-1}]}`, strings.Repeat(`{"format":`, 2000)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		content := rewritten(t, good, func(name, content string) (string, bool) {
			if name == ManifestName {
				content = string(text)
			}
			return content, true
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a, err := open(t, content)
		runtime.ReadMemStats(&after)
		const perByte, fixed = 300, 4 << 20
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(text))*perByte+fixed {
			t.Errorf("%d bytes allocate %d", len(text), took)
		}
		if err != nil {
			return
		}
		defer a.Close()
		if a.Size() < 0 {
			t.Errorf("%q has %d bytes", text, a.Size())
		}
	})
}
