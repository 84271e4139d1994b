package mlflow_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/server/mlflow"
)

var update = flag.Bool("update", false, "write the table of routes into docs/mlflow.md")

// The document ends with a table that must list every route.
func TestDocumentHasEveryRoute(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "mlflow.md")
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| method | path |\n|---|---|\n"
	text, _, _ := strings.Cut(string(old), head)
	var b strings.Builder
	b.WriteString(text + head)
	for _, rt := range mlflow.Routes() {
		b.WriteString("| " + rt[0] + " | `" + strings.ReplaceAll(rt[1], ":.+", "") + "` |\n")
	}
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b.String() != string(old) {
		t.Error("docs/mlflow.md has other routes; run go test ./server/mlflow -run Document -update")
	}
}
