package format

import (
	"cmp"
	"maps"
	"strings"

	"tracker/store/json"
)

// Plot is a chart of wandb.plot or wandb.sklearn. Fields selects the columns of the chart's table.
type Plot struct {
	Key    string
	Panel  string // name of the chart's definition, such as "wandb/line/v0" or "me/mine"
	Kind   string // chart type, such as "line"; "" for a type that a script defines
	Title  string // "" if the chart has no title
	XTitle string // "" if the X axis has no title
	YTitle string
	Fields map[string]string // column names by role
	File   string            // name of the file with the table; "" if no table was logged
}

// MaxPlots is the maximum number of charts read from a run.
const MaxPlots = 100

// presets holds the columns in the tables of charts whose columns the client does not name: the
// charts of wandb.sklearn, by chart type and role.
var presets = map[string]map[string]string{
	"calibration":         {"x": "mean_predicted_value", "y": "fraction_of_positives", "stroke": "model"},
	"class_proportions":   {"label": "class", "value": "count", "stack": "dataset"},
	"confusion_matrix":    {"Actual": "Actual", "Predicted": "Predicted", "nPredictions": "Count"},
	"decision_boundaries": {"x": "x", "y": "y", "class": "color"},
	"elbow":               {"x": "cluster_ranges", "y": "errors", "second": "clustering_time"},
	"feature_importances": {"label": "feature_names", "value": "importances"},
	"learning_curve":      {"x": "train_size", "y": "score", "stroke": "dataset"},
	"metrics":             {"label": "metric_name", "value": "metric_value"},
	"outliers":            {"x": "instance_indicies", "y": "distance", "limit": "influence_threshold"},
	"residuals_plot":      {"x": "y_pred", "y": "residuals", "class": "dataset"},
	"silhouette_":         {"x": "x2", "y": "y_sil", "class": "color_sil", "limit": "silhouette_avg"},
}

// kindOf returns the chart type of a definition, or "" for a definition that is not from W&B.
func kindOf(panel string) string {
	name, ok := strings.CutPrefix(panel, "wandb/")
	if !ok {
		return ""
	}
	kind, _, _ := strings.Cut(name, "/")
	return kind
}

// panel is the JSON form of a chart in the configuration of a run.
type panel struct {
	Config struct {
		Panel   string             `json:"panelDefId"`
		Fields  map[string]*string `json:"fieldSettings"`
		Strings map[string]string  `json:"stringSettings"`
		Query   struct {
			Fields []struct {
				Fields []struct {
					Args []struct {
						Name  string `json:"name"`
						Value string `json:"value"`
					} `json:"args"`
				} `json:"fields"`
			} `json:"queryFields"`
		} `json:"userQuery"`
	} `json:"panel_config"`
}

// Plots returns the charts in the configuration and the summary of a run, in the order of the
// configuration, with the charts of wandb.sklearn first.
func Plots(config, summary string) (all []Plot) {
	// Do not parse the configuration of a run without charts, as most runs are.
	if !strings.Contains(config, `"visualize"`) && !strings.Contains(config, `"viz"`) {
		return nil
	}
	value := MemberOf(MemberOf(config, "_wandb"), "value")
	charts, err := Members(MemberOf(value, "viz"))
	if err != nil {
		charts = nil
	}
	for _, m := range charts {
		var p struct {
			ID string `json:"id"`
		}
		if unmarshal(m.Value, &p) == nil && len(all) < MaxPlots {
			kind := kindOf(p.ID)
			plot := Plot{Key: m.Key, Panel: p.ID, Kind: kind, Fields: map[string]string{}, File: fileOf(summary, m.Key)}
			maps.Copy(plot.Fields, presets[kind])
			all = append(all, plot)
		}
	}
	if charts, err = Members(MemberOf(value, "visualize")); err != nil {
		return all
	}
	for _, m := range charts {
		var p panel
		if unmarshal(m.Value, &p) != nil || len(all) == MaxPlots {
			continue
		}
		c := &p.Config
		plot := Plot{Key: m.Key, Panel: c.Panel, Kind: kindOf(c.Panel), Title: c.Strings["title"],
			XTitle: cmp.Or(c.Strings["x-axis-title"], c.Strings["xname"]), YTitle: c.Strings["y-axis-title"], Fields: map[string]string{}}
		if plot.Kind != "confusion_matrix" { // wandb.plot names the columns of its matrix
			maps.Copy(plot.Fields, presets[plot.Kind])
		}
		for use, column := range c.Fields {
			if column != nil {
				plot.Fields[use] = *column
			}
		}
		table := m.Key + "_table"
		for _, f := range c.Query.Fields {
			for _, inner := range f.Fields {
				for _, a := range inner.Args {
					if a.Name == "tableKey" {
						table = a.Value
					}
				}
			}
		}
		plot.File = fileOf(summary, table)
		all = append(all, plot)
	}
	return all
}

func unmarshal(text string, into any) error {
	return json.Unmarshal([]byte(text), into, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true))
}

// fileOf returns the name of the file that the summary of a run has under a key, or "" for none.
func fileOf(summary, key string) string {
	var file struct {
		Path string `json:"path"`
	}
	if unmarshal(MemberOf(summary, key), &file) != nil {
		return ""
	}
	return file.Path
}

// MemberOf returns the value of a key in a JSON object as JSON, or "" if the object does not have
// the key.
func MemberOf(text, key string) string {
	members, err := Members(text)
	if err != nil {
		return ""
	}
	for _, m := range members {
		if m.Key == key {
			return m.Value
		}
	}
	return ""
}

// Table is the content of a table file.
type Table struct {
	Columns []string
	Rows    [][]any // each value is a string, float64, bool, nil or a nested value
}

// ParseTable parses the content of a table file. NaN and infinities become null.
func ParseTable(text string) (t Table, err error) {
	var in struct {
		Columns []any   `json:"columns"`
		Data    [][]any `json:"data"`
	}
	if err = unmarshal(text, &in); err != nil {
		err = unmarshal(bare.Replace(text), &in)
	}
	for _, c := range in.Columns {
		name, _ := c.(string)
		t.Columns = append(t.Columns, name)
	}
	t.Rows = in.Data
	return t, err
}

// bare replaces NaN and infinities, which Python writes but JSON does not allow, with null.
var bare = strings.NewReplacer("-Infinity", "null", "Infinity", "null", "NaN", "null")
