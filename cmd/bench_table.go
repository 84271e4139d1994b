package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
)

// benchRow is one line of the result: a value, or latencies, or both; or the
// reason why it is not known.
type benchRow struct {
	Part    string   `json:"part"`
	What    string   `json:"what"`
	Value   *float64 `json:"value,omitempty"`
	Unit    string   `json:"unit,omitempty"` // of the value
	P50     *float64 `json:"p50_ms,omitempty"`
	P95     *float64 `json:"p95_ms,omitempty"`
	Unknown string   `json:"unknown,omitempty"`
}

// value adds a row with a value.
func (b *bench) value(what, unit string, v float64) {
	b.rows = append(b.rows, benchRow{Part: b.part, What: what, Value: &v, Unit: unit})
}

// latency adds a row of how long requests took.
func (b *bench) latency(what string, t timing) {
	b.rows = append(b.rows, benchRow{Part: b.part, What: what, P50: quantileMS(t, 0.5), P95: quantileMS(t, 0.95)})
}

// rate adds a row of how much went through, with the latency of its requests.
func (b *bench) rate(what, unit string, v float64, t timing) {
	b.latency(what, t)
	row := &b.rows[len(b.rows)-1]
	row.Value, row.Unit = &v, unit
}

// unknown adds a row that a server of somebody else leaves open.
func (b *bench) unknown(what, unit string) {
	b.rows = append(b.rows, benchRow{Part: b.part, What: what, Unit: unit, Unknown: "not known with --url"})
}

// knownHere adds a row with a value that not every system tells.
func (b *bench) knownHere(what, unit string, v float64, known bool) {
	if !known {
		b.rows = append(b.rows, benchRow{Part: b.part, What: what, Unit: unit, Unknown: "not known here"})
		return
	}
	b.value(what, unit, v)
}

func quantileMS(t timing, q float64) *float64 {
	ms := float64(quantile(t.each, q)) / float64(time.Millisecond)
	return &ms
}

// result is the second column of the table.
func (r benchRow) result() string {
	switch {
	case r.Unknown != "":
		return r.Unknown
	case r.Value == nil:
		return ""
	}
	return strings.TrimSpace(short(*r.Value) + " " + r.Unit)
}

// short writes a number with no more digits than it deserves.
func short(v float64) string {
	switch {
	case v >= 1000:
		return humanize.Comma(int64(math.Round(v)))
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// count writes a number of things.
func count(n int) string { return humanize.Comma(int64(n)) }

func milliseconds(v *float64) string {
	if v == nil {
		return ""
	}
	return short(*v) + " ms"
}

func (b *bench) printTable(w io.Writer) error {
	var text bytes.Buffer
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "part\twhat\tresult\tp50\tp95")
	for _, r := range b.rows {
		fmt.Fprintln(t, strings.Join([]string{r.Part, r.What, r.result(), milliseconds(r.P50), milliseconds(r.P95)}, "\t"))
	}
	t.Flush() // into memory
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	if b.dir != "" {
		_, err := fmt.Fprintf(w, "\nThe database is %s.\n", b.kept())
		return err
	}
	return nil
}

func (b *bench) printJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(struct {
		Version string     `json:"version"`
		System  string     `json:"system"`
		CPUs    int        `json:"cpus"`
		Points  int        `json:"points"`
		File    string     `json:"db_file,omitempty"` // that was kept
		Rows    []benchRow `json:"rows"`
	}{Version(), runtime.GOOS + "/" + runtime.GOARCH, runtime.NumCPU(), b.written, b.kept(), b.rows})
}

// kept is the database that stays, if one does.
func (b *bench) kept() string {
	if b.dir == "" {
		return ""
	}
	return b.main.file
}
