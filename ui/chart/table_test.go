package chart_test

import (
	"fmt"
	"strings"
	"testing"

	"tracker/store/wandb/format"
	"tracker/ui/chart"
)

// drawn returns the chart of a table as the client logs it with wandb.sklearn.
func drawn(t *testing.T, kind, table string) *chart.Plot {
	t.Helper()
	config := `{"_wandb":{"value":{"viz":{"k":{"id":"wandb/` + kind + `/v1"}}}}}`
	parsed, err := format.ParseTable(table)
	if err != nil {
		t.Fatal(err)
	}
	return chart.FromTable(format.Plots(config, `{"k":{"path":"k.json"}}`)[0], parsed)
}

// classes returns the classes and names of the shapes of a chart, and the names in its legend.
func classes(p *chart.Plot) string {
	var all []string
	for _, l := range p.Lines {
		all = append(all, l.Class+"="+l.Name)
	}
	all = append(all, "|")
	for _, l := range p.Names() {
		all = append(all, l.Name)
	}
	return strings.Join(all, ";")
}

func labels(ticks []chart.Tick) string {
	var all []string
	for _, t := range ticks {
		all = append(all, t.Label)
	}
	return strings.Join(all, ";")
}

// Each chart of wandb.sklearn is drawn from its table, and tables without usable values give an
// empty chart.
func TestScikitLearn(t *testing.T) {
	for _, c := range []struct {
		kind, columns, rows      string
		about, shapes, y, inPath string
	}{
		{"calibration", `"model","fraction_of_positives","mean_predicted_value"`, `["Perfect",0,0],["Perfect",1,1],["Logistic",0.5,0.4]`,
			"fraction_of_positives over mean_predicted_value", "line c0=Perfect;line c1=Logistic;|;Perfect;Logistic", "", "M56.0 216.0L628.0 10.0"},
		{"learning_curve", `"dataset","score","train_size"`, `["train",1,34],["test",0.5,34],["train",1,100],["test",0.75,100]`,
			"score over train_size", "line c0=train;line c1=test;|;train;test", "", "M56.0 216.0L628.0 113.0"},
		{"class_proportions", `"class","dataset","count"`, `["cat","train",30],["cat","test",10],["dog","train",2],["dog","train",3],["dog","test",5]`,
			"count over class", "bars c0=cat, train: 30;bars c1=cat, test: 10;bars c0=dog, train: 5;bars c1=dog, test: 5;|;train;test", "cat;dog", "M523.0 13.6H628.0v"},
		{"confusion_matrix", `"Predicted","Actual","Count"`, `["a","a",9],["a","b",1],["b","a",0],["b","b",3]`,
			"actual class down, predicted class across", "cell share9=a, predicted a: 9;cell share0=a, predicted b: 0;cell share2=b, predicted a: 1;cell share7=b, predicted b: 3;|", "a;b", "M56.0 10.0"},
		{"decision_boundaries", `"x","y","color"`, `[0,0,"#aaa"],[1,1,"red"],[1,0,"red"]`,
			"y over x", "dots c0=#aaa;dots c1=red;|;#aaa;red", "", "M628.0 10.0h0M628.0 216.0h0"},
		{"elbow", `"cluster_ranges","errors","clustering_time"`, `[1,600,0.25],[3,100,0.5]`,
			"errors (left axis) and clustering_time (right axis) over cluster_ranges", "line c0=errors;line c1=clustering_time;|;errors;clustering_time", "100;200;300;400;500;600", "M56.0 216.0L580.0 10.0"},
		{"feature_importances", `"feature_names","importances"`, `["radius",0.75],["area",-0.25]`,
			"importances over feature_names", "bars c0=radius: 0.75;bars c0=area: -0.25;|", "radius;area", "M313.0 13.6H628.0v"},
		{"metrics", `"metric_name","metric_value","model_name"`, `["accuracy",0.95,"M"]`,
			"metric_value over metric_name", "bars c0=accuracy: 0.95;|", "accuracy", "M208.0 13.6H628.0v"},
		{"outliers", `"distance","instance_indicies","outlier_percentage","influence_threshold"`, `[0,0,5,0.5],[1,1,5,0.5]`,
			"distance over instance_indicies", "dots c0=;line c1 dash-1=influence_threshold 0.5;|;influence_threshold 0.5", "", "M56.0 113.0L628.0 113.0"},
		{"residuals_plot", `"dataset","y_pred","residuals"`, `["train",1,0],["test",2,1]`,
			"residuals over y_pred", "dots c0=train;dots c1=test;|;train;test", "", "M628.0 10.0h0"},
		{"silhouette_", `"y_sil","x2","color_sil","silhouette_avg"`, `[10,0.5,0,0.5],[11,1,0,0.5],[20,0.5,1,0.5]`,
			"samples of each cluster over silhouette value", "bars c0=cluster 0;bars c1=cluster 1;line c2 dash-1=mean 0.5;|;mean 0.5", "0;1", "M56.0 216.0L342.0 216.0"},
	} {
		p := drawn(t, c.kind, `{"columns":[`+c.columns+`],"data":[`+c.rows+`]}`)
		if p == nil {
			t.Errorf("%s is not drawn", c.kind)
			continue
		}
		paths := ""
		for _, l := range p.Lines {
			paths += l.Path + "\n"
		}
		if p.About != c.about || classes(p) != c.shapes || c.y != "" && labels(p.Y) != c.y || !strings.Contains(paths, c.inPath) {
			t.Errorf("%s: %q, %q, %q\n%s", c.kind, p.About, classes(p), labels(p.Y), paths)
		}
		for name, table := range map[string]string{
			"none": `{"columns":[],"data":[]}`, "short": `{"columns":[` + c.columns + `],"data":[[],[1]]}`,
			"texts": `{"columns":[` + c.columns + `],"data":[["a","b","c","d"],[null,[1],{},true]]}`,
			"wide":  `{"columns":[` + c.columns + `],"data":[[1e308,-1e308,1e308,1e308],[-1e308,1e308,-1e308,-1e308],[1e308,1e308,1e308,1e308],[1e308,1e308,1e308,1e308]]}`,
		} {
			p := drawn(t, c.kind, table)
			if p == nil {
				t.Fatalf("%s of the table %s is not drawn", c.kind, name)
			}
			for _, l := range p.Lines {
				if strings.Contains(l.Path, "NaN") || strings.Contains(l.Path, "Inf") {
					t.Errorf("%s of the table %s: %s", c.kind, name, l.Path)
				}
			}
		}
	}
	if p := drawn(t, "new", `{"columns":["x"],"data":[[1]]}`); p != nil {
		t.Errorf("a chart of an unknown kind is drawn: %+v", p)
	}
}

// The number of shapes of a chart is limited, and the chart says how many are left out.
func TestScikitLearnLimits(t *testing.T) {
	var features, points, classes []string
	for i := range 4000 {
		features = append(features, fmt.Sprintf(`["feature %d",%d]`, i, i))
		points = append(points, fmt.Sprintf(`["c%d",%d,%d]`, i%3, i, i))
		classes = append(classes, fmt.Sprintf(`["c%d",%d,%d]`, i, i, i))
	}
	bars := drawn(t, "feature_importances", `{"columns":["feature_names","importances"],"data":[`+strings.Join(features, ",")+`]}`)
	if len(bars.Lines) != 30 || !strings.Contains(bars.About, "the first 30 of 4000 bars") || bars.Height < 30*24 {
		t.Errorf("%d bars, %q, height %v", len(bars.Lines), bars.About, bars.Height)
	}
	dots := drawn(t, "residuals_plot", `{"columns":["dataset","y_pred","residuals"],"data":[`+strings.Join(points, ",")+`]}`)
	n := 0
	for _, l := range dots.Lines {
		n += strings.Count(l.Path, "h0")
	}
	if n > 1000 || n < 990 || !strings.Contains(dots.About, "1000 of 4000 points") {
		t.Errorf("%d points, %q", n, dots.About)
	}
	many := drawn(t, "residuals_plot", `{"columns":["dataset","y_pred","residuals"],"data":[`+strings.Join(classes, ",")+`]}`)
	if len(many.Lines) != 12 || !strings.Contains(many.About, "the first 12 of 4000 classes") {
		t.Errorf("%d classes, %q", len(many.Lines), many.About)
	}
}
