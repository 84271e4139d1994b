package dvclive

import (
	"os"
	"path/filepath"
	"testing"

	"tracker/store/transfer"
)

// FuzzFolder imports arbitrary files. The import must terminate. An unreadable file is a loss, not
// an error.
func FuzzFolder(f *testing.F) {
	f.Add("step\tloss\n0\t0.5\n1\tnan\n2", "lr: 0.1\nnet: {a: [1]}\n")
	f.Add("step\ttimestamp\tloss\n0\t1700000000000\tinf\n\n\t\t\n", "a: &a [*a]")
	f.Fuzz(func(t *testing.T, table, params string) {
		folder := t.TempDir()
		metrics := filepath.Join(folder, metricsFolder, "train")
		err := os.MkdirAll(metrics, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(metrics, "loss.tsv"), []byte(table), 0o600)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "params.yaml"), []byte(params), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		im := transfer.New(transfer.Nowhere{}, transfer.Options{DryRun: true})
		if err := im.Run(t.Context(), source{folder, []string{folder}}); err != nil {
			t.Fatalf("%v: %+v", err, im.Result)
		}
	})
}
