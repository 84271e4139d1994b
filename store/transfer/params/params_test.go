package params

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store/transfer"
)

func TestRead(t *testing.T) {
	many := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for _, name := range "bcdefg" {
		many += fmt.Sprintf("%c: &%c [%s]\n", name, name, strings.TrimSuffix(strings.Repeat("*"+string(name-1)+",", 10), ","))
	}
	for text, want := range map[string]string{
		"lr: 0.1\nnet: {depth: 3, names: [x, y]}\nnone: null\n":                                `[{lr 0.1} {net {"depth":3,"names":["x","y"]}} {none null}]`,
		"a: .nan\nb: -.inf\n1: x\nc: {2: y}\nd: 2025-06-15\n":                                  `[{1 "x"} {a "NaN"} {b "-Inf"} {c {"2":"y"}} {d "2025-06-15T00:00:00Z"}]`,
		"betas: !!python/tuple\n- 0.9\n- 0.999\nnet: !!python/object:net.Config\n  depth: 3\n": `[{betas [0.9,0.999]} {net {"depth":3}}]`,
		"":    "[]",
		"- a": "error", "a: [": "error", many: "error", "a: &a [*a]": "error",
	} {
		path := filepath.Join(t.TempDir(), "hparams.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		im := transfer.New(transfer.Nowhere{}, transfer.Options{})
		f, ok := Read(im, path)
		got := fmt.Sprint(f.members)
		if !ok {
			got = "error"
		}
		if got != want || ok == (im.Result.Lost > 0) {
			t.Errorf("%.60q: %.200s, want %s; %+v", text, got, want, im.Result.Losses)
		}
	}
}

// TestHostileParams checks that a params.yaml file that is too large or a link out of the folder is
// recorded as a loss.
func TestHostileParams(t *testing.T) {
	for _, target := range []string{"/dev/zero", "/etc/hostname", ""} {
		folder := t.TempDir()
		path := filepath.Join(folder, "params.yaml")
		err := os.Symlink(target, path)
		if target == "" {
			err = os.WriteFile(path, make([]byte, MaxSize+1), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		im := transfer.New(transfer.Nowhere{}, transfer.Options{DryRun: true})
		if p, ok := Read(im, path); ok || len(p.members) > 0 || im.Result.Lost != 1 {
			t.Errorf("%q: %v, %+v", target, p, im.Result)
		}
	}
}
