package ui_test

import (
	"fmt"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/wandb"
)

// chartOf returns the configuration that W&B's client writes for a chart.
func chartOf(key, kind, fields string) string {
	return fmt.Sprintf(`%q:{"panel_type":"Vega2","panel_config":{"panelDefId":%q,"fieldSettings":%s,"stringSettings":{"title":"Title <b> of %s"},
		"userQuery":{"queryFields":[{"name":"runSets","fields":[{"name":"summaryTable","args":[{"name":"tableKey","value":%q}]}]}]}}}`, key, kind, fields, key, key+"_table")
}

// Each kind of chart of wandb.plot is drawn from its table, whatever the table contains.
func TestTablePlots(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	wide := `[1e308,-1e308,"x"],[-1e308,1e308,"y"]`
	tables := map[string]string{
		"good":  `{"columns":["x","y","name"],"data":[[0,1,"a"],[1,2,"a"],[0,3,"b"],[1,4,"<i>"]]}`,
		"odd":   `{"columns":["x","y","name"],"data":[[NaN,1,"a"],[1,Infinity,null],[null,"text",[1]],[true,-Infinity,{"a":1}],[],[1]]}`,
		"wide":  `{"columns":["x","y","name"],"data":[` + wide + `]}`,
		"other": `{"columns":["z",3],"data":[[1,2]]}`,
		"none":  `{"columns":[],"data":[]}`,
		"not":   `{"columns":`,
		"many":  `{"columns":["x","y","name"],"data":[` + strings.TrimSuffix(strings.Repeat(`[1,2,"a"],[3,4,"b"],`, 5000), ",") + `]}`,
		"large": `{"columns":["x","y","name"],"data":[` + strings.TrimSuffix(strings.Repeat(`[1,2,"a"],`, 60000), ",") + `]}`,
	}
	kinds := map[string]string{
		"wandb/line/v0": `{"x":"x","y":"y","stroke":"name"}`, "wandb/lineseries/v0": `{"step":"x","lineVal":"y","lineKey":"name"}`,
		"wandb/area-under-curve/v0": `{"x":"x","y":"y","class":"name"}`, "wandb/scatter/v0": `{"x":"x","y":"y"}`,
		"wandb/bar/v0": `{"label":"name","value":"y"}`, "wandb/histogram/v0": `{"value":"y"}`,
		"wandb/confusion_matrix/v1": `{"Actual":"name","Predicted":"name","nPredictions":"y"}`, "me/mine": `{"x":null}`,
	}
	marks := map[string]string{"wandb/line/v0": `class="line c1"`, "wandb/lineseries/v0": `class="line c0"`, "wandb/area-under-curve/v0": `class="line c1"`,
		"wandb/scatter/v0": `class="dots c0"`, "wandb/bar/v0": `class="bars c0"`, "wandb/histogram/v0": `class="bars c0"`,
		"wandb/confusion_matrix/v1": `class="cell share9"`, "me/mine": "The definition of this chart, me/mine, is on W&amp;B&#39;s servers, so the chart&#39;s table is shown."}
	for name, table := range tables {
		var charts []string
		summary := []string{`"loss":1`}
		for kind, fields := range kinds {
			charts = append(charts, chartOf(kind, kind, fields))
			summary = append(summary, fmt.Sprintf(`"%s_table":{"_type":"table-file","path":"media/table/t.table.json"}`, kind))
		}
		config := `{"_wandb":{"value":{"visualize":{` + strings.Join(charts, ",") + `}}}}`
		all := "{" + strings.Join(summary, ",") + "}"
		run := must(s.db.Wandb.SaveRun(t.Context(), domain.System, wandb.Change{Project: "plots", Name: name, Config: &config, Summary: &all}))(t)
		page := "/iteration/" + run.ID
		s.get(page).wants(t, 200, "Its table has not been sent yet.")
		data := must(s.db.Files.Receive(t.Context(), strings.NewReader(table), ""))(t)
		if err := s.db.Files.WriteFile(t.Context(), domain.System, files.Tree{IterationID: run.ID}, "media/table/t.table.json", "application/json", data); err != nil {
			t.Fatal(err)
		}
		data.Discard()
		a := s.get(page)
		switch name {
		case "good":
			a.wants(t, 200, "Title &lt;b&gt; of wandb/line/v0", "&lt;i&gt;")
			for _, mark := range marks {
				a.wants(t, 200, mark)
			}
		case "many":
			a.wants(t, 200, "1000 of 10000 points", "the first 100 of 10000 bars")
			if len(a.body) > 400<<10 {
				t.Errorf("the page has %d bytes", len(a.body))
			}
		case "large":
			a.wants(t, 200, "so it is not drawn")
		case "not":
			a.wants(t, 200, "Its table can&#39;t be read")
		default:
			a.wants(t, 200, "Plots")
		}
		a.lacks(t, "NaN ", "Inf ", "<b> of")
	}
}
