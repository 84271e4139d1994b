package format

import (
	"cmp"
	"strings"

	"tracker/store/json"
)

// Plot is a chart of wandb.plot. Fields selects the columns of the chart's table.
type Plot struct {
	Key    string
	Kind   string // chart type, such as "line"; "" for a type that a script defines
	Title  string // "" if the chart has no title
	XTitle string // "" if the X axis has no title
	YTitle string
	Fields map[string]string // column names by role
	File   string            // name of the file with the table; "" if no table was logged
}

// MaxPlots is the maximum number of charts read from a run.
const MaxPlots = 100

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
// configuration.
func Plots(config, summary string) (all []Plot) {
	// Do not parse the configuration of a run without charts, as most runs are.
	if !strings.Contains(config, `"visualize"`) {
		return nil
	}
	text := config
	for _, name := range []string{"_wandb", "value", "visualize"} {
		text = MemberOf(text, name)
	}
	charts, err := Members(text)
	if err != nil {
		return nil
	}
	for _, m := range charts {
		var p panel
		if json.Unmarshal([]byte(m.Value), &p, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)) != nil || len(all) == MaxPlots {
			continue
		}
		c := &p.Config
		plot := Plot{Key: m.Key, Title: c.Strings["title"], XTitle: cmp.Or(c.Strings["x-axis-title"], c.Strings["xname"]), YTitle: c.Strings["y-axis-title"],
			Fields: map[string]string{}}
		if name, ok := strings.CutPrefix(c.Panel, "wandb/"); ok {
			plot.Kind, _, _ = strings.Cut(name, "/")
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
		var file struct {
			Path string `json:"path"`
		}
		if json.Unmarshal([]byte(MemberOf(summary, table)), &file, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)) == nil {
			plot.File = file.Path
		}
		all = append(all, plot)
	}
	return all
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
	err = json.Unmarshal([]byte(text), &in, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true))
	if err != nil {
		err = json.Unmarshal([]byte(bare.Replace(text)), &in, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true))
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
