package ui_test

import (
	"fmt"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/scalar"
	"tracker/store/wandb"
	"tracker/store/wandb/format"
)

// The page of an increment shows the rows of all increments up to and including this one.
func TestIncrementalTable(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	ctx := t.Context()
	run := must(s.db.Wandb.SaveRun(ctx, domain.System, wandb.Change{Project: "tables", Name: "grows"}))(t)
	var rows []format.Row
	write := func(key string, number int) string {
		name := fmt.Sprintf("media/table/%s_%d_0123456789abcdef0123.table.json", key, number)
		data := must(s.db.Files.Receive(ctx, strings.NewReader(fmt.Sprintf(`{"columns":["n"],"data":[["%s row %d"]]}`, key, number)), ""))(t)
		defer data.Discard()
		if err := s.db.Files.WriteFile(ctx, domain.System, files.Tree{IterationID: run.ID}, name, "application/json", data); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for number := range 3 {
		for _, key := range []string{"tab", "other"} {
			rows = append(rows, format.Row{Step: scalar.Step(number), HasStep: true, Rest: []format.Member{{Key: key, Value: fmt.Sprintf(
				`{"_type":"incremental-table-file","log_mode":"INCREMENTAL","increment_num":%d,"path":%q}`, number, write(key, number))}}})
		}
	}
	if _, err := s.db.Wandb.Append(ctx, domain.System, run.ID, wandb.Stream{Rows: rows}); err != nil {
		t.Fatal(err)
	}
	names := make([]string, 3)
	for number := range names {
		names[number] = write("tab", number)
	}
	it := must(s.db.Runs.Iteration(ctx, domain.System, run.ID))(t)
	pages := map[string]string{}
	for _, a := range must(s.db.Files.Artifacts(ctx, domain.System, it.ExperimentID, files.ArtifactQuery{Page: domain.Page{Limit: 100}}))(t).Data {
		pages[a.Name] = "/artifact/" + a.ID
	}
	for number, name := range names {
		page := s.get(pages[name])
		page.wants(t, 200, fmt.Sprintf("%d of %d rows", number+1, number+1))
		for i := range 3 {
			if strings.Contains(page.body, fmt.Sprintf("tab row %d<", i)) != (i <= number) {
				t.Errorf("increment %d: row %d is shown or not", number, i)
			}
		}
		if strings.Contains(page.body, "other row") {
			t.Errorf("increment %d has rows of another table", number)
		}
	}
	s.get(pages[names[2]]).wants(t, 200, "3 of 3 rows of 3 increments")
}
