package store_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/archive"
	"tracker/store/domain"
	format "tracker/store/transfer/archive"
)

// TestHostileArchivedDatabase imports archives with manipulated databases. Each import must
// import nothing and return an error with the reason.
func TestHostileArchivedDatabase(t *testing.T) {
	b := fullBed(t)
	content := b.export(t, archive.Query{ProjectID: b.project})
	for name, c := range map[string]struct {
		statements []string
		want       string
	}{
		"a trigger": {[]string{`CREATE TRIGGER evil AFTER INSERT ON source BEGIN DELETE FROM project; END`}, "does not match the schema of tracker"},
		"a view for a table": {[]string{`ALTER TABLE experiment_view RENAME TO saved`,
			`CREATE VIEW experiment_view AS SELECT * FROM saved`}, "does not match the schema of tracker"},
		"no index":            {[]string{`DROP INDEX resource_by_name`}, "parts are missing"},
		"a newer schema":      {[]string{`PRAGMA user_version = 9999`}, "newer"},
		"another file":        {[]string{`PRAGMA application_id = 1`}, "another program"},
		"a long value":        {[]string{`UPDATE project SET description = printf('%.*c', 40000000, 'x')`}, "has a value of 40000000 bytes"},
		"a long name":         {[]string{`UPDATE iteration SET name = printf('%.*c', 300, 'x')`}, "at most 250 characters"},
		"a control character": {[]string{`UPDATE series SET key = 'a' || char(10) WHERE key = 'loss'`}, "printable"},
		"an id":               {[]string{`PRAGMA foreign_keys = 0`, `UPDATE parameter SET id = '../x' WHERE key = 'lr'`}, "is not a UUID"},
		"a path":              {[]string{`UPDATE resource SET name = '../../etc/passwd' WHERE name = 'data.csv'`}, "name must be like"},
		"other hashes":        {[]string{`UPDATE blob SET hash = replace(hash, substr(hash, 1, 1), '0')`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tracker.db")
			files := unzip(t, content)
			wantOK(t, os.WriteFile(path, files["tracker.db"], 0o600))
			db := raw(t, path)
			for _, s := range c.statements {
				execSQL(t, db, s)
			}
			wantOK(t, db.Close())
			other := open(t, store.Options{Exclusive: true, Backends: folder(t)})
			_, err := other.Archive.Import(ctx, domain.System, file(t, repacked(t, files, path)), archive.ImportOptions{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, without %q", err, c.want)
			}
			if domain.AsError(err).Code != domain.CodeInvalidPayload || strings.Contains(err.Error(), filepath.Dir(other.Path())) {
				t.Errorf("the error has the code %s and is %v", domain.AsError(err).Code, err)
			}
			if problems := must(other.Check(ctx, false))(t); len(problems) > 0 {
				t.Errorf("after the import: %v", problems)
			}
			left := must(filepath.Glob(filepath.Join(filepath.Dir(other.Path()), "tracker-archive-*")))(t)
			if len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestDamagedArchive imports archives with changed bytes and truncated archives. Each error must be about
// the archive, and must not name a path of the server.
func TestDamagedArchive(t *testing.T) {
	b := fullBed(t)
	content := b.export(t, archive.Query{ProjectID: b.project})
	other := open(t, store.Options{Exclusive: true, Backends: folder(t)})
	attempt := func(name string, bad []byte) {
		t.Helper()
		_, err := other.Archive.Receive(ctx, domain.System, bytes.NewReader(bad), archive.ImportOptions{})
		if err == nil {
			return // the changed byte does not matter, or the record was skipped
		}
		if e := domain.AsError(err); e.Code != domain.CodeInvalidPayload || strings.Contains(e.Message, filepath.Dir(other.Path())) {
			t.Errorf("%s: the code is %s, and the error is %v", name, e.Code, err)
		}
	}
	for i := range 60 {
		at := len(content) * i / 60
		bad := bytes.Clone(content)
		bad[at] ^= 0x55
		attempt(fmt.Sprintf("a change of byte %d", at), bad)
	}
	for i := range 20 {
		attempt(fmt.Sprintf("the first %d bytes", len(content)*i/20), content[:len(content)*i/20])
	}
	attempt("no zip file", []byte("hello"))
}

// repacked returns an archive with its database replaced.
func repacked(t *testing.T, files map[string][]byte, database string) []byte {
	t.Helper()
	c := format.Content{Database: database}
	for name, content := range files {
		if strings.HasPrefix(name, "artifacts/") {
			c.Blobs = append(c.Blobs, format.Blob{Hash: filepath.Base(name), Size: int64(len(content))})
		}
	}
	c.Open = func(b format.Blob) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files["artifacts/"+b.Hash[:2]+"/"+b.Hash])), nil
	}
	var out bytes.Buffer
	wantOK(t, format.Write(&out, c))
	return out.Bytes()
}
