package bench

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

// Report holds the results of a benchmark.
type Report struct {
	Version string `json:"version"`
	System  string `json:"system"` // operating system and architecture
	CPUs    int    `json:"cpus"`
	Points  int    `json:"points"`            // points in the file
	File    string `json:"db_file,omitempty"` // path of the database; "" if it was removed
	Rows    []Row  `json:"rows"`
}

// Row is one result: a value, latencies, or both. If the result is unknown, the row holds the
// reason.
type Row struct {
	Part    string   `json:"part"`
	What    string   `json:"what"`
	Value   *float64 `json:"value,omitempty"`
	Unit    string   `json:"unit,omitempty"` // unit of Value
	P50     *float64 `json:"p50_ms,omitempty"`
	P95     *float64 `json:"p95_ms,omitempty"`
	Unknown string   `json:"unknown,omitempty"`
}

func (b *benchmark) report() Report {
	r := Report{
		Version: b.Version,
		System:  runtime.GOOS + "/" + runtime.GOARCH,
		CPUs:    runtime.NumCPU(),
		Points:  b.written,
		Rows:    b.rows,
	}
	if b.Dir != "" {
		r.File = b.main.file
	}
	return r
}

// addValue adds a row with a value.
func (b *benchmark) addValue(what, unit string, v float64) {
	b.rows = append(b.rows, Row{Part: b.part, What: what, Value: &v, Unit: unit})
}

// addLatency adds a row with the latencies of requests.
func (b *benchmark) addLatency(what string, t timing) {
	b.rows = append(b.rows, Row{Part: b.part, What: what, P50: quantileMS(t, 0.5), P95: quantileMS(t, 0.95)})
}

// addRate adds a row with a throughput v and the latencies of its requests.
func (b *benchmark) addRate(what, unit string, v float64, t timing) {
	b.addLatency(what, t)
	row := &b.rows[len(b.rows)-1]
	row.Value, row.Unit = &v, unit
}

// addUnknown adds a row for a result that can't be measured for a server at URL.
func (b *benchmark) addUnknown(what, unit string) {
	b.rows = append(b.rows, Row{Part: b.part, What: what, Unit: unit, Unknown: "unknown with --url"})
}

// addSystemValue adds a row with a value that only some systems report. If known is false, the
// value is unknown on this system.
func (b *benchmark) addSystemValue(what, unit string, v float64, known bool) {
	if !known {
		b.rows = append(b.rows, Row{Part: b.part, What: what, Unit: unit, Unknown: "unknown on this system"})
		return
	}
	b.addValue(what, unit, v)
}

// addComparison adds two rows: the median rate of the baseline, and the median ratio of the
// server's rate to it.
func (b *benchmark) addComparison(what, unit string, rates, ratios []float64) {
	if b.URL != "" {
		b.addUnknown(what, unit)
		b.addUnknown("ratio to it", "")
		return
	}
	b.addValue(what, unit, quantile(rates, 0.5))
	b.addValue("ratio to it", "", quantile(ratios, 0.5))
}

func quantileMS(t timing, q float64) *float64 {
	ms := float64(quantile(t.each, q)) / float64(time.Millisecond)
	return &ms
}

// result returns the row's text in the column "result".
func (r Row) result() string {
	switch {
	case r.Unknown != "":
		return r.Unknown
	case r.Value == nil:
		return ""
	}
	return strings.TrimSpace(short(*r.Value) + " " + r.Unit)
}

// short formats a number with three significant digits. It formats numbers of 1,000 or more as
// integers.
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

// comma formats n with commas as thousands separators.
func comma(n int) string { return humanize.Comma(int64(n)) }

func milliseconds(v *float64) string {
	if v == nil {
		return ""
	}
	return short(*v) + " ms"
}

// WriteTable writes the report as a table.
func (r Report) WriteTable(w io.Writer) error {
	var text bytes.Buffer
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "part\twhat\tresult\tp50\tp95")
	for _, row := range r.Rows {
		fmt.Fprintln(t, strings.Join([]string{row.Part, row.What, row.result(), milliseconds(row.P50), milliseconds(row.P95)}, "\t"))
	}
	t.Flush() // writes to memory and can't fail
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	if r.File == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nThe database is %s.\n", r.File)
	return err
}

// WriteJSON writes the report as indented JSON.
func (r Report) WriteJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(r)
}
