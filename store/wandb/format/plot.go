package format

import (
	"cmp"
	"strings"

	"tracker/store/json"
)

// Plot is a chart of wandb.plot: its kind, its table and the columns shown.
type Plot struct {
	Key    string
	Kind   string // such as line; "" for a kind that a script defines
	Title  string // "" for none
	XTitle string // likewise
	YTitle string
	Fields map[string]string // columns by role
	File   string            // name of the table's file, "" while there is none
}

// MaxPlots bounds the charts of a run.
const MaxPlots = 100

// panel is the record of a chart in the configuration of a run.
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

// Plots returns the charts of a run from its configuration and its summary, in the order
// of the configuration.
func Plots(config, summary string) (all []Plot) {
	// Most runs have no charts, so their configuration is not parsed.
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

// MemberOf returns the value of a member of an object as JSON, or "" if there is none.
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
	Rows    [][]any // string, float64, bool, nil, or a nested value
}

// ParseTable parses a table file. NaN and infinities become null.
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

// bare replaces Python's NaN and infinities, which are not valid JSON, by null.
var bare = strings.NewReplacer("-Infinity", "null", "Infinity", "null", "NaN", "null")
