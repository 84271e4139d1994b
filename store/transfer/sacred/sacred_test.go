package sacred

import (
	"os"
	"path/filepath"
	"testing"

	"tracker/store/transfer"
)

// An import of any files ends; a file that can't be read is a loss and not an error.
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
		if err := im.Run(t.Context(), source{[]string{folder}}); err != nil {
			t.Fatalf("%v: %+v", err, im.Result)
		}
	})
}
