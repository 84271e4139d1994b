package wandb

import (
	"crypto/md5"
	"encoding/base64"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestArtifactFile checks that a file is read only if it matches the hash in the log, because a log
// can name any file.
func TestArtifactFile(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "secret"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	sum := md5.Sum([]byte("secret"))
	right := base64.StdEncoding.EncodeToString(sum[:])
	for name, f := range map[string]artifactFile{
		"other bytes":    {Path: path, Size: 6, MD5: "Y/Tx6bclNw9FlyBXXNX5Uw=="},
		"no hash":        {Path: path, Size: 6},
		"another size":   {Path: path, Size: 5, MD5: right},
		"a link":         {Path: link, Size: 6, MD5: right},
		"a folder":       {Path: dir, MD5: right},
		"a device":       {Path: "/dev/zero", MD5: right},
		"a missing file": {Path: filepath.Join(dir, "gone"), Size: 6, MD5: right},
	} {
		if in, err := f.open(); err == nil {
			in.Close()
			t.Errorf("%s was opened", name)
		}
	}
	in, err := artifactFile{Path: path, Size: 6, MD5: right}.open()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if got, err := io.ReadAll(in); err != nil || string(got) != "secret" {
		t.Errorf("%q, %v", got, err)
	}
}
