package ui_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store/files"
)

func TestPreviews(t *testing.T) {
	s := start(t, setup{})
	h := s.shelf()
	show := func(name string) answer { return s.get("/artifact/" + h.artifacts[name]) }
	show("sample_0050.png").wants(t, 200, `data-kind="image"`, ">step 50<", `<span class="place">2</span> of 3`, `aria-valuetext="step 50"`,
		`rel="prev" href="/artifact/`+h.artifacts["sample_0001.png"]+`"`, `rel="next" href="/artifact/`+h.artifacts["sample_0200.png"]+`"`)
	show("table.csv").wants(t, 200, `data-kind="table"`, "200 of 300 rows", `<th scope="col"><bdi>name</bdi>`, "&lt;script&gt;")
	show("config.json").wants(t, 200, `<bdi class="number">0.10</bdi>`, `<bdi class="key">layers</bdi>`, "{4}", "[2]", "&lt;b&gt;x")
	show("weights_3.histogram.json").wants(t, 200, "<rect", "4 from 0 to 1", "7 values, up to 4 in a bin, and 3 that are not finite")
	show("report.md").wants(t, 200, "<h1>Report</h1>", "<strong>done</strong>")
	show("output.log").wants(t, 200, `data-testid="head"`, "160 KiB in the middle are not shown", "the end")
	show("logo.svg").wants(t, 200, `<img src="/artifact/`+h.artifacts["logo.svg"]+`/data"`)
	show("evil.html").wants(t, 200, "&lt;!doctype html&gt;&lt;script&gt;window", `<iframe sandbox="allow-scripts"`, "/artifact/"+h.artifacts["evil.html"]+`/frame"`)
	show("sound.wav").wants(t, 200, "<audio controls")
	show("film.webm").wants(t, 200, "<video controls")
	show("model.pt").wants(t, 200, "This type of file has no preview", "classifier</bdi>, version 1", "because these model versions use it")
	for name := range h.artifacts {
		show(name).lacks(t, "<script>", "<img src=x", "<b>x")
	}
	for name, want := range map[string]struct{ contentType, content, shown string }{
		"bar.log":       {"text/plain", "10%\r50%\r\x1b[32m100%\x1b[0m\r\nnext\r\nlast \x1b]0;title\x07one", ">\n100%\nnext\nlast one</pre>"},
		"empty.txt":     {"text/plain", "", "The file is empty."},
		"broken.json":   {"application/json", `{"a": 1,, }`, "The file has invalid JSON at byte 8,"},
		"two.json":      {"application/json", "{}\n{}", "The file has more than one JSON value"},
		"nan.json":      {"application/json", `{"a": NaN}`, "The file has invalid JSON at byte"},
		"long.json":     {"application/json", "[" + strings.Repeat("1,", 5000) + "1]", "and 3,002 more"},
		"deep.json":     {"application/json", strings.Repeat("[", 500) + strings.Repeat("]", 500), "[[[["},
		"huge.json":     {"application/json", `"` + strings.Repeat("x", 1<<20) + `"`, "The file is too large for its preview, so it is shown as text."},
		"odd.csv":       {"text/csv", "a,b\n\"1\n2,3\n", "of"},
		"wide.tsv":      {"text/tab-separated-values", strings.Repeat("c\t", 100) + "\n", "the first 60 columns"},
		"plain.json":    {"text/plain", `{"columns": ["question"], "data": [["red?"]]}`, "<td>"},
		"bytes.txt":     {"text/plain", "\xff\xfe\x00", "\uFFFD"},
		"guessed.yaml":  {"", "lr: 0.1", "lr: 0.1"},
		"same.json":     {"application/json", `{"edges": [1, 1, 1], "counts": [5, 0]}`, "<rect"},
		"no-hist.json":  {"application/json", `{"edges": [1, 2], "counts": [1, 2]}`, `class="tree"`},
		"big-edge.json": {"application/json", `{"edges": [-1e308, 1e308], "counts": [1]}`, `class="tree"`},
	} {
		id := s.keep(h.experiment, files.NewArtifact{Name: name, ContentType: want.contentType}, want.content)
		s.get("/artifact/"+id).wants(t, 200, want.shown)
	}
	s.get("/artifact/none").wants(t, 404)
}

// An artifact with lost bytes is still shown and can be deleted.
func TestLostArtifact(t *testing.T) {
	root := t.TempDir()
	s := start(t, setup{blobs: root})
	w := s.sweep(1, 0)
	id := s.keep(w.experiment, files.NewArtifact{Name: "notes.txt"}, "gone soon")
	s.get("/artifact/"+id).wants(t, 200, "gone soon", "filesystem")
	folders, err := filepath.Glob(filepath.Join(root, "??"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("the bytes are in %q (%v)", folders, err)
	}
	if err := os.RemoveAll(folders[0]); err != nil {
		t.Fatal(err)
	}
	a := s.get("/artifact/" + id)
	a.wants(t, 200, "notes.txt", "The preview failed.", `data-testid="delete-artifact"`)
	a.lacks(t, root)
	s.post("/artifact/"+id+"/delete", nil).deletes(t, "/experiment/"+w.experiment+"/artifacts", id)
}
