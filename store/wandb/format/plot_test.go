package format

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// recorded holds the first lines of the tables that W&B's client 0.31 sends for each chart of
// wandb.sklearn.
var recorded = map[string]string{
	"calibration":         `{"columns":["model","fraction_of_positives","mean_predicted_value","hist_dict","edge_dict"],"data":[["Perfectly calibrated",0,0,0,0],["Logistic",0.015,0.01,130,1.1e-15]]}`,
	"class_proportions":   `{"columns":["class","dataset","count"],"data":[["malignant","train",159],["malignant","test",53]]}`,
	"confusion_matrix":    `{"columns":["Predicted","Actual","Count"],"data":[["malignant","malignant",51],["malignant","benign",2]]}`,
	"decision_boundaries": `{"columns":["x","y","color"],"data":[[0.12,0.5,"#aaaaaa"],[0.4,1.5,"red"]]}`,
	"elbow":               `{"columns":["cluster_ranges","errors","clustering_time"],"data":[[1,681.37,0.02],[3,78.85,0.03]]}`,
	"feature_importances": `{"columns":["feature_names","importances"],"data":[["worst concave points",0.18],["mean radius",0.12]]}`,
	"learning_curve":      `{"columns":["dataset","score","train_size"],"data":[["train",1.0,34],["test",0.9,34]]}`,
	"metrics":             `{"columns":["metric_name","metric_value","model_name"],"data":[["accuracy_score",0.95,"RandomForestClassifier"]]}`,
	"outliers":            `{"columns":["distance","instance_indicies","outlier_percentage","influence_threshold"],"data":[[0.0003,0,5.43,0.009]]}`,
	"residuals_plot":      `{"columns":["dataset","y_pred","residuals","train_score","test_score"],"data":[["train",160.2,12.5,0.46,0.4]]}`,
	"silhouette_":         `{"columns":["x","y","colors","centerx","centery","y_sil","x1","x2","color_sil","silhouette_avg"],"data":[[5.1,3.5,1,5.5,2.6,10,0,0.02,0,0.49]]}`,
}

// W&B's client stores the charts of wandb.sklearn without the names of their columns. Plots adds
// the names, which are columns of the recorded tables.
func TestPlotsOfScikitLearn(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(presets)), slices.Sorted(maps.Keys(recorded)); !slices.Equal(got, want) {
		t.Errorf("presets: %q; recorded tables: %q", got, want)
	}
	for kind, text := range recorded {
		config := `{"_wandb":{"value":{"viz":{"mine":{"id":"wandb/` + kind + `/v1","historyFieldSettings":{"x-axis":"_step","key":"mine"}}}}}}`
		summary := `{"mine":{"_type":"table-file","path":"media/table/mine_0_1.table.json"},"mine_table":{"path":"other"}}`
		all := Plots(config, summary)
		if len(all) != 1 || all[0].Key != "mine" || all[0].Kind != kind || all[0].Panel != "wandb/"+kind+"/v1" || all[0].File != "media/table/mine_0_1.table.json" {
			t.Errorf("%s: %+v", kind, all)
			continue
		}
		table, err := ParseTable(text)
		if err != nil {
			t.Fatal(err)
		}
		for use, column := range all[0].Fields {
			if !slices.Contains(table.Columns, column) {
				t.Errorf("%s: the column %q for %s is not in %q", kind, column, use, table.Columns)
			}
		}
	}
}

func TestPlots(t *testing.T) {
	config := `{"_wandb":{"value":{"viz":{"a":{"id":"wandb/new/v1"},"b":3},"visualize":{
		"c":{"panel_config":{"panelDefId":"me/mine","fieldSettings":{"x":"height","y":null},"stringSettings":{"title":"T"}}},
		"d":{"panel_config":{"panelDefId":"wandb/confusion_matrix/v1","fieldSettings":{"nPredictions":"n"}}}}}}}`
	var got []string
	for _, p := range Plots(config, `{"a":{"path":"a.json"},"c_table":{"path":"c.json"}}`) {
		got = append(got, strings.Join([]string{p.Key, p.Panel, p.Kind, p.Title, p.Fields["x"], p.Fields["nPredictions"], p.File}, " "))
	}
	want := []string{"a wandb/new/v1 new    a.json", "c me/mine  T height  c.json", "d wandb/confusion_matrix/v1 confusion_matrix   n "}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, config := range []string{``, `{}`, `{"_wandb":{"value":{"viz":[]}}}`, `{"_wandb":{"value":{"viz":3,"visualize":"x"}}}`, `{"viz"`} {
		if all := Plots(config, ``); all != nil {
			t.Errorf("%s: %+v", config, all)
		}
	}
	many := `{"_wandb":{"value":{"viz":{` + strings.TrimSuffix(strings.Repeat(`"k":{"id":"wandb/metrics/v1"},`, MaxPlots+5), ",") + `}}}}`
	if all := Plots(many, ``); len(all) != MaxPlots {
		t.Errorf("%d charts", len(all))
	}
}
