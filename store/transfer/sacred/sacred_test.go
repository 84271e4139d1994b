package sacred

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tracker/store/transfer"
)

// FuzzRun imports arbitrary files. The import must terminate. An unreadable file is a loss, not an
// error.
func FuzzRun(f *testing.F) {
	const about = `{"experiment": {"name": "e", "sources": [["a.py", "../../etc/passwd"]]}, "status": "FAILED", "fail_trace": ["x"], "start_time": "2026-11-22T12:36:06.046729"}`
	f.Add(about, `{"loss": {"steps": [1], "timestamps": ["2026-11-22T12:36:06.046729"], "values": [NaN]}}`, `{"a": {"b": [1]}}`)
	f.Add(about, `{"loss": {"steps": [1e300], "timestamps": [""], "values": [{}]}, "x": {"steps": [1]}}`, `[`)
	f.Add(`{"experiment": {}, "status": "x"}`, `{"": null}`, ``)
	f.Fuzz(func(t *testing.T, about, metrics, config string) {
		folder := filepath.Join(t.TempDir(), "1")
		err := os.Mkdir(folder, 0o755)
		for name, text := range map[string]string{"run.json": about, "metrics.json": metrics, "config.json": config} {
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		im := transfer.New(transfer.Nowhere{}, transfer.Options{DryRun: true})
		if err := im.Run(t.Context(), source{folders: []string{folder}}); err != nil {
			t.Fatalf("%v: %+v", err, im.Result)
		}
	})
}

// TestHostile checks that config.json and metrics.json are recorded as losses if they are too
// large, links out of the folder, or folders.
func TestHostile(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.json")
	for name, make := range map[string]func(path string) error{
		"large": func(path string) error {
			f, err := os.Create(path)
			if err != nil {
				return err
			}
			return errors.Join(f.Truncate(1<<40), f.Close())
		},
		"link":   func(path string) error { return os.Symlink(secret, path) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"folder": func(path string) error { return os.Mkdir(path, 0o755) },
	} {
		for _, file := range []string{"config.json", "metrics.json"} {
			folder := filepath.Join(t.TempDir(), "1")
			err := os.Mkdir(folder, 0o755)
			for path, text := range map[string]string{secret: `{"password": 1}`,
				filepath.Join(folder, "run.json"): `{"experiment": {"name": "e"}, "status": "COMPLETED", "start_time": "2026-11-22T12:36:06"}`} {
				if err == nil {
					err = os.WriteFile(path, []byte(text), 0o600)
				}
			}
			if err == nil {
				err = make(filepath.Join(folder, file))
			}
			if err != nil {
				t.Fatal(err)
			}
			im := transfer.New(transfer.Nowhere{}, transfer.Options{DryRun: true, NoArtifacts: true})
			if err := im.Run(t.Context(), source{folders: []string{folder}}); err != nil || im.Result.Lost != 1 || im.Result.Parameters != 0 || im.Result.Found != 1 {
				t.Errorf("%s is a %s: %v, %+v", file, name, err, im.Result)
			}
		}
	}
}

// TestOtherRun checks that a run with an unreadable description is reported as a loss.
func TestOtherRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"1": `{"experiment": {"name": "e"}, "status": "COMPLETED"}`, "2": `{"experiment": {"na`, "3": `{}`} {
		err := os.MkdirAll(filepath.Join(dir, name), 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name, "run.json"), []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	src, err := find(dir)
	if err != nil {
		t.Fatal(err)
	}
	im := transfer.New(transfer.Nowhere{}, transfer.Options{DryRun: true})
	err = im.Run(t.Context(), src)
	lost := map[string]bool{}
	for _, l := range im.Result.Losses {
		lost[l.Path] = true
	}
	if err != nil || im.Result.Found != 1 || !lost[filepath.Join(dir, "2", "run.json")] || !lost[filepath.Join(dir, "3", "run.json")] {
		t.Errorf("%v, %+v", err, im.Result)
	}
}
