package wandb_test

import (
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/wandb"
)

// Data that is truncated or left out is reported in a property of the run.
func TestLostIsTold(t *testing.T) {
	t.Parallel()
	b := start(t, false)
	b.run("p", "r")
	lost := func() string {
		t.Helper()
		all, err := b.db.Runs.Properties(t.Context(), domain.System, runs.IterationProperty, b.id("p", "r"), domain.FirstPage)
		b.must(err)
		if len(all.Data) == 0 {
			return ""
		}
		if len(all.Data) != 1 || all.Data[0].Key != wandb.LostProperty {
			t.Fatalf("the properties are %v", all.Data)
		}
		return all.Data[0].Value
	}
	b.history("p", "r", 0, `{"_step":0,"x":1}`).wants(200)
	b.query(`mutation { upsertBucket(input: {modelName: "p", name: "r", tags: ["a"], notes: "n", displayName: "d", config: "{\"a\":{\"value\":1}}"}) { inserted } }`, nil).wants(200)
	if got := lost(); got != "" {
		t.Errorf("nothing was lost, and it says %q", got)
	}
	long := func(letter string) string { return strings.Repeat(letter, 300) }
	for range 2 {
		b.history("p", "r", 1, `nonsense`, `{"_step":1,"`+long("m")+`":1}`).wants(200)
		b.stream("p", "r", `{"files":{"wandb-events.jsonl":{"offset":0,"content":["nonsense"]},"wandb-summary.json":{"offset":0,"content":["nonsense"]}}}`).wants(200)
		b.query(`mutation ($n: String) { upsertBucket(input: {modelName: "p", name: "r", tags: ["`+long("t")+`"], notes: $n, displayName: "`+long("d")+
			`", config: "{\"`+long("c")+`\":{\"value\":1}}"}) { inserted } }`, map[string]any{"n": strings.Repeat("n", domain.MaxText+1)}).wants(200)
		b.query(`mutation { notifyScriptableRunAlert(input: {projectName: "p", runName: "r", title: "t"}) { success } }`, nil).wants(200)
		b.send("PUT", "/files/me/p/r/"+long("f"), "x").wants(200)
		b.send("PUT", "/files/me/p/r/plain/./name", "x").wants(200)
	}
	for _, want := range []string{"A line of the history", `"m`, "A line of the system metrics", "A summary", `tag, "t`, "The notes", `run, "d`, `parameter, "c`, "An alert", `file, "f`} {
		if !strings.Contains(lost(), want) {
			t.Errorf("%s is not in %s", want, lost())
		}
	}
	if n := strings.Count(lost(), "\n") + 1; n != 10 {
		t.Errorf("%d sentences: %s", n, lost())
	}
	for i := range 300 {
		b.history("p", "r", 2, `{"_step":1,"`+long("x")+strings.Repeat("y", i)+`":1}`).wants(200)
	}
	if got := lost(); strings.Count(got, "\n") != 99 || !strings.HasSuffix(got, "More was cut or left out.") {
		t.Errorf("%d sentences to %q", strings.Count(got, "\n")+1, got[len(got)-50:])
	}
}
