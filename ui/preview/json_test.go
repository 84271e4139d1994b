package preview_test

import (
	"testing"

	"tracker/store/files"
	"tracker/ui/preview"
)

func TestVegaOf(t *testing.T) {
	for _, c := range []struct{ name, media, body, want string }{
		{"chart.json", "application/json", `{"$schema":"https://vega.github.io/schema/vega-lite/v5.20.1.json","mark":"bar"}`, preview.VegaLite},
		{"chart.json", "", `{"$schema":"https://vega.github.io/schema/vega-lite/v6.1.0.json"}`, preview.VegaLite},
		{"chart.json", "", `{"marks":[],"$schema":"http://vega.github.io/schema/vega/v5.json"}`, preview.PlainVega},
		{"chart.vl.json", "", `{"mark":"bar"}`, preview.VegaLite},
		{"CHART.VG.JSON", "", `{"marks":[]}`, preview.PlainVega},
		{"chart", "application/vnd.vegalite.v5+json", `{"mark":"bar"}`, preview.VegaLite},
		{"chart", "application/vnd.vega.v5+json", `{"marks":[]}`, preview.PlainVega},
		{"chart.vl.json", "", `{"$schema":"https://vega.github.io/schema/vega/v5.json"}`, preview.PlainVega},
		{"chart.vl.json", "", `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, ""},
		{"config.json", "application/json", `{"mark":"bar"}`, ""},
		{"chart.vl.json", "", `[1]`, ""},
		{"chart.vl.json", "", `{"$schema":5}`, ""},
		{"chart.vl.json", "", `{`, ""},
		{"chart.json", "", `{"usermeta":{"$schema":"https://vega.github.io/schema/vega/v5.json"}}`, ""},
	} {
		if got := preview.VegaOf(files.Artifact{Name: c.name, ContentType: c.media}, []byte(c.body)); got != c.want {
			t.Errorf("%s of type %q with %s is %q, want %q", c.name, c.media, c.body, got, c.want)
		}
	}
}
