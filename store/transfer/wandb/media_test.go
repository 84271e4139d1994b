package wandb

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tracker/store/transfer"
)

// keys is a sink that records the names of metrics.
type keys struct {
	transfer.Nowhere
	all        []string
	properties []string
}

func (k *keys) Write(_ context.Context, batches []*transfer.Batch) ([]transfer.Outcome, error) {
	for _, b := range batches {
		for _, s := range b.Series {
			k.all = append(k.all, s.Key)
		}
		for _, p := range b.Properties {
			k.properties = append(k.properties, p.Key+"="+p.Value)
		}
	}
	return make([]transfer.Outcome, len(batches)), nil
}

// TestMedia checks that texts and definitions become properties, and that the members of an image
// or a table do not become metrics. A client can write such an object to a history or a summary,
// either as one value or with each member as an item.
func TestMedia(t *testing.T) {
	items := func(number int, all ...string) []byte {
		var record []byte
		for i := 0; i < len(all); i += 2 {
			var one []byte
			for part := range strings.SplitSeq(all[i], "/") {
				one = append(one, message(2, []byte(part))...)
			}
			record = append(record, message(1, append(one, message(16, []byte(all[i+1]))...))...)
		}
		switch number {
		case recordHistory:
			return message(recordHistory, record)
		default:
			return message(recordSummary, record)
		}
	}
	metric := func(fields ...[]byte) []byte { return message(recordMetric, slices.Concat(fields...)) }
	data := newLog(runData(),
		metric(message(2, []byte("eval/*")), message(4, []byte("epoch")), message(6, []byte{2 << 3, 1})),
		metric(message(1, []byte("loss")), message(7, []byte{1 << 3, 1})),
		items(recordHistory, "phase", `"warm-up"`), items(recordHistory, "phase", `"main"`, "gone", "null"),
		items(recordHistory, "loss", "0.5", "img/width", "5", "img/_type", `"image-file"`, "deep/img/_type", `"image-file"`, "deep/img/size", "9", "deep/acc", "1", "img2", "2"),
		items(recordHistory, "img/width", "6", "old", `{"_type": "table-file", "nrows": 3}`),
		items(recordSummary, "best/table/nrows", "3"),
		items(recordSummary, "best/table/_type", `"table-file"`, "best/table/ncols", "1", "best/score", "7", "top", `{"x": -Infinity, "text": "a"}`, "img/width", "6", "loss", "0.5"),
		items(recordSummary, "best/table/nrows", "4"),
		message(recordExit, []byte{8, 0}))
	path := filepath.Join(t.TempDir(), "run-id.wandb")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	src, err := find(path)
	if err != nil {
		t.Fatal(err)
	}
	sink := &keys{}
	im := transfer.New(sink, transfer.Options{})
	if err := im.Run(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	if want := []string{"loss", "deep/acc", "img2", "best/score", "top/x"}; !slices.Equal(sink.all, want) {
		t.Errorf("the metrics are %q, want %q", sink.all, want)
	}
	want := []string{`tracker.metric.eval/*={"step_metric":"epoch","hidden":true}`, `tracker.metric.loss={"goal":"minimize"}`,
		"tracker.summary.phase=main", "tracker.summary.top/text=a"}
	if slices.Sort(sink.properties); !slices.Equal(sink.properties, want) {
		t.Errorf("the properties are %q, want %q", sink.properties, want)
	}
	var lost []string
	for _, l := range im.Result.Losses {
		lost = append(lost, l.Reason)
	}
	for _, part := range []string{`"img" have W&B's type "image-file"`, `"deep/img" have`, `"old" have W&B's type "table-file"`, `"best/table" have`} {
		if !slices.ContainsFunc(lost, func(reason string) bool { return strings.Contains(reason, part) }) || len(lost) != 4 {
			t.Errorf("%q is not in %q", part, lost)
		}
	}
}
