package wandb_test

import (
	"net/http"
	"testing"
	"time"

	"tracker/ui/uitest"
)

// Every write through W&B's protocol is announced to the event streams of the pages that it
// changes.
func TestEveryWriteIsAnnounced(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	w := b.mutationWorld(func(*http.Request) {})
	open := uitest.Pages(t, b.db, func() time.Time { return time.UnixMilli(b.now.Load()) }, "")
	write := func(name string, send func(b bed) answer) {
		t.Run(name, func(t *testing.T) {
			b.TB = t
			send(b).wants(200)
			open.In(t).Check(false)
		})
	}
	for name, body := range map[string]string{
		"history": `{"files":{"wandb-history.jsonl":{"offset":0,"content":["{\"_step\":0,\"loss\":1}"]}}}`,
		"summary": `{"files":{"wandb-summary.json":{"offset":0,"content":["{\"best\":1}"]}}}`,
		"output":  `{"files":{"output.log":{"offset":0,"content":["a line"]}}}`,
		"end":     `{"complete":true,"exitcode":1}`,
	} {
		write(name, func(b bed) answer { return b.stream("p", "run", body) })
	}
	write("a file", func(b bed) answer { return b.send("PUT", "/files/me/p/run/other.txt", "x") })
	write("the environment", func(b bed) answer { return b.send("PUT", "/files/me/p/run/wandb-metadata.json", `{"host":"gpu-01"}`) })
	for _, line := range mutationLines {
		write(line.name+" "+line.input, func(b bed) answer {
			return b.query(`mutation { `+line.name+`(input: {`+expand(line.input, w)+`}) { __typename } }`, nil)
		})
	}
}
