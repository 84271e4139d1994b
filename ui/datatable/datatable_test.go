package datatable_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/ui/datatable"
)

func decode(t *testing.T, text string) *datatable.Table {
	t.Helper()
	table, _, err := datatable.DecodeJSON(t.Context(), strings.NewReader(text), datatable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// texts returns the cells of a table as text, with "∅" for missing cells.
func texts(t *datatable.Table) (all []string) {
	for row := range t.Rows {
		var cells []string
		for column := range t.Columns {
			cell := t.Cell(row, column)
			if cell.Kind == datatable.Missing {
				cell.Text = "∅"
			}
			cells = append(cells, cell.Text)
		}
		all = append(all, strings.Join(cells, "|"))
	}
	return all
}

func names(t *datatable.Table) (all []string) {
	for _, c := range t.Columns {
		all = append(all, c.Name)
	}
	return all
}

func TestDecodeJSON(t *testing.T) {
	table := decode(t, `{"ncols": 7, "more": {"deep": [1, {"a": "NaN"}]}, "columns": ["text", "n", "yes", "list", "picture", 5, "n"],
		"data": [["a NaN \" -Infinity", 0.10, true, [1, 2], {"_type": "image-file", "path": "media/images/a.png", "caption": "A"}, null, NaN],
			["b", 12345678901234567890, false, {"x": 1}, {"type": "image", "filepath": "images/b.png"}],
			["c", -Infinity, null, "d", "e", "f", Infinity, "more"]], "column_types": {}}`)
	if got, want := names(table), []string{"text", "n", "yes", "list", "picture", "5", "n (2)", "column 8"}; !slices.Equal(got, want) {
		t.Errorf("names: %q", got)
	}
	want := []string{
		`a NaN " -Infinity|0.10|true|[1, 2]|media/images/a.png|∅|NaN|∅`,
		`b|12345678901234567890|false|{"x": 1}|images/b.png|∅|∅|∅`,
		`c|-Infinity|∅|d|e|f|Infinity|more`}
	if got := texts(table); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if c := table.Cell(0, 4); c.Kind != datatable.Media || c.Caption != "A" {
		t.Errorf("media: %+v", c)
	}
	kinds := []datatable.Kind{datatable.Text, datatable.Number, datatable.Bool, datatable.Text, datatable.Text, datatable.Text, datatable.Number, datatable.Text}
	for i, c := range table.Columns {
		if c.Kind() != kinds[i] {
			t.Errorf("%s has kind %d", c.Name, c.Kind())
		}
	}
	// MLflow writes the columns first and an index in some versions; other writers write the data
	// first.
	if got := texts(decode(t, `{"data": [[1, 2]], "index": [0], "columns": ["a", "b"]}`)); !slices.Equal(got, []string{"1|2"}) {
		t.Errorf("data first: %q", got)
	}
}

func TestDecodeOther(t *testing.T) {
	for _, text := range []string{"", "[]", "{}", `{"columns": ["a"]}`, `{"data": []}`, `{"columns": ["a"], "data": {"a": 1}}`, `{"columns": ["a"], "data": [1]}`,
		`{"columns": ["a"], "data": [`, strings.Repeat("[", 100_000), `{"columns": ["a"], "data": [["` + strings.Repeat("x", 2<<20)} {
		if _, _, err := datatable.DecodeJSON(t.Context(), strings.NewReader(text), datatable.Options{}); !errors.Is(err, datatable.ErrNotTable) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	for text, cut := range map[string]string{
		`{"columns": ["a"], "data": [[1], [2`:                                                  "damaged after row 1",
		`{"columns": ["a"], "data": [[1], ["` + strings.Repeat("x", 2<<20) + `"]]}`:            "ends at a cell of more than 1.0 MiB",
		`{"columns": ["a"], "data": [["` + strings.Repeat("ä", 100_000) + `"]]}`:               "shortened to 32 KiB",
		`{"columns": ["a"], "data": [[` + strings.Repeat("1,", 10_000) + `1]]}`:                "first 200 columns",
		`{"columns": ["a"], "data": [[1]` + strings.Repeat(",[1]", 2*datatable.MaxRows) + `]}`: "first 100,000 rows",
	} {
		if table := decode(t, text); !strings.Contains(table.Cut, cut) || len(table.Columns) > datatable.MaxColumns || table.Rows > datatable.MaxRows {
			t.Errorf("%.40q: %d columns, %d rows, %q", text, len(table.Columns), table.Rows, table.Cut)
		}
	}
	_, parts, err := datatable.DecodeJSON(t.Context(), strings.NewReader(`{"_type": "partitioned-table", "parts_path": "parts"}`), datatable.Options{})
	if err != nil || parts == nil || parts.Folder != "parts" {
		t.Errorf("partitioned: %+v, %v", parts, err)
	}
	for text, keys := range map[string][2]string{`"id"`: {"id", "id"}, `["a", "b"]`: {"a", "b"}} {
		_, parts, err := datatable.DecodeJSON(t.Context(), strings.NewReader(`{"_type": "joined-table", "table1": "x", "table2": "y", "join_key": `+text+`}`), datatable.Options{})
		if err != nil || parts == nil || !slices.Equal(parts.Tables, []string{"x", "y"}) || parts.Keys != keys {
			t.Errorf("joined: %+v, %v", parts, err)
		}
	}
}

func TestDecodeCSV(t *testing.T) {
	for text, want := range map[string]string{
		"a,b\n1,x\n,true\n":    "1|x / ∅|true",
		"a,b\n007,0x10\n":      "007|0x10",
		"a\n\"x\ny\"\n\"q":     "x\ny / q",
		"a,b\n1\n1,2,3\n":      "1|∅|∅ / 1|2|3",
		"a,b\nfile/x_0,file\n": "file/x_0|file",
	} {
		table, err := datatable.DecodeCSV(t.Context(), strings.NewReader(text), ',', datatable.Options{Folder: "file/"})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(texts(table), " / "); got != want {
			t.Errorf("%q: %q", text, got)
		}
		if c := table.Cell(0, 0); (c.Kind == datatable.Media) != strings.HasPrefix(c.Text, "file/") {
			t.Errorf("%q: kind %d", text, c.Kind)
		}
	}
	table, err := datatable.DecodeCSV(t.Context(), strings.NewReader("a\n1\n"+strings.Repeat("x", 3<<20)), ',', datatable.Options{})
	if err != nil || table.Rows != 1 || !strings.Contains(table.Cut, "Row 2 is longer") {
		t.Errorf("long row: %v, %+v", err, table)
	}
}

// The budget of the context is charged while a table is decoded, not afterwards.
func TestDecodeWithinBudget(t *testing.T) {
	failed, asked := errors.New("no memory"), int64(0)
	ctx := domain.WithBudget(t.Context(), func(n int64) error {
		if asked += n; asked > 1<<20 {
			return failed
		}
		return nil
	})
	text := `{"columns": ["a"], "data": [["x"]` + strings.Repeat(`,["`+strings.Repeat("x", 1000)+`"]`, 10_000) + `]}`
	if _, _, err := datatable.DecodeJSON(ctx, strings.NewReader(text), datatable.Options{}); !errors.Is(err, failed) || asked > 2<<20 {
		t.Errorf("got %v after %d bytes", err, asked)
	}
}

// model is a slow, simple implementation of Select for tables of numbers and texts. A nil is
// missing.
func model(rows [][]any, search string, column int, least float64, sort int, descending bool) []int32 {
	found := []int32{}
	for i, row := range rows {
		matches := search == ""
		for _, cell := range row {
			if text, ok := cell.(string); ok && strings.Contains(strings.ToLower(text), search) {
				matches = true
			}
		}
		if v, ok := row[column].(float64); matches && ok && v >= least {
			found = append(found, int32(i))
		}
	}
	slices.SortStableFunc(found, func(a, b int32) int {
		x, y := rows[a][sort], rows[b][sort]
		rank := func(v any) int {
			switch v := v.(type) {
			case float64:
				if math.IsNaN(v) {
					return 2
				}
				return 0
			case string:
				return 1
			}
			return 2
		}
		order := cmp.Compare(rank(x), rank(y))
		if rank(x) == 2 || rank(y) == 2 {
			return order
		}
		if order == 0 && rank(x) == 0 {
			order = cmp.Compare(x.(float64), y.(float64))
		} else if order == 0 {
			order = cmp.Compare(x.(string), y.(string))
		}
		if descending {
			return -order
		}
		return order
	})
	return found
}

// random returns a table as JSON and as rows.
func random(r *rand.Rand, rows, columns int) (string, [][]any) {
	all := make([][]any, rows)
	var text strings.Builder
	text.WriteString(`{"columns": [`)
	for c := range columns {
		fmt.Fprintf(&text, `%s"c%d"`, []string{"", ","}[min(c, 1)], c)
	}
	text.WriteString(`], "data": [`)
	for i := range all {
		text.WriteString([]string{"[", ",["}[min(i, 1)])
		for c := range columns {
			if c > 0 {
				text.WriteByte(',')
			}
			var cell any
			switch r.IntN(8) {
			case 0:
				text.WriteString("null")
			case 1:
				cell = math.NaN()
				text.WriteString("NaN")
			case 2, 3:
				word := []string{"cat", "Dog", "dogma", "<b>"}[r.IntN(4)]
				cell = word
				fmt.Fprintf(&text, "%q", word)
			default:
				n := float64(r.IntN(100)) / 4
				cell = n
				fmt.Fprint(&text, n)
			}
			all[i] = append(all[i], cell)
		}
		text.WriteByte(']')
	}
	text.WriteString("]}")
	return text.String(), all
}

func TestSelect(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		text, rows := random(r, 200, 3)
		table := decode(t, text)
		for range 20 {
			search := []string{"", "dog", "<b>", "none"}[r.IntN(4)]
			column, sort, least, descending := r.IntN(3), r.IntN(3), float64(r.IntN(25)), r.IntN(2) == 0
			q := datatable.Query{Search: search, Sort: sort, Descending: descending,
				Filters: []datatable.Filter{{Column: column, Op: datatable.AtLeast, Value: fmt.Sprint(least)}}}
			if got, want := table.Select(q), model(rows, search, column, least, sort, descending); !slices.Equal(got, want) {
				t.Fatalf("seed %d, %+v:\n%d\n%d", seed, q, got, want)
			}
		}
	}
}

func TestFilters(t *testing.T) {
	table := decode(t, `{"columns": ["n", "t"], "data": [[1, "One"], [1.50, "two"], [NaN, "x"], [null, null], ["1", true]]}`)
	for f, want := range map[datatable.Filter]string{
		{Column: 0, Op: datatable.Equals, Value: "1.5"}:  "[1]",
		{Column: 0, Op: datatable.Equals, Value: "1"}:    "[0 4]",
		{Column: 0, Op: datatable.Equals, Value: "NaN"}:  "[2]",
		{Column: 0, Op: datatable.AtMost, Value: "1.2"}:  "[0]",
		{Column: 0, Op: datatable.AtMost, Value: "x"}:    "[]",
		{Column: 0, Op: datatable.IsEmpty}:               "[3]",
		{Column: 1, Op: datatable.HasValue}:              "[0 1 2 4]",
		{Column: 1, Op: datatable.Contains, Value: "O"}:  "[0 1]",
		{Column: 1, Op: datatable.Equals, Value: "one"}:  "[]",
		{Column: 1, Op: datatable.Equals, Value: "true"}: "[4]",
		{Column: 9, Op: datatable.HasValue}:              "[]",
		{Column: 1, Op: "other"}:                         "[]",
	} {
		if got := fmt.Sprint(table.Select(datatable.Query{Filters: []datatable.Filter{f}, Sort: -1})); got != want {
			t.Errorf("%+v: %s, want %s", f, got, want)
		}
	}
	s := table.Summarize(table.Select(datatable.Query{Sort: -1}), 0)
	if s.Count != 5 || s.Missing != 1 || s.Numbers != 2 || s.Min != 1 || s.Max != 1.5 || s.Mean != 1.25 || s.Distinct != 3 ||
		s.Frequent[0] != (datatable.Value{Text: "1", Count: 2}) {
		t.Errorf("summary: %+v", s)
	}
}

func TestGroup(t *testing.T) {
	table := decode(t, `{"columns": ["k", "n", "t"], "data": [["a", 1, "x"], ["b", 2, "x"], ["a", 4, 1], [null, null, 1], ["a", NaN, 1]]}`)
	g, err := table.Group(t.Context(), []int32{0, 1, 2, 3, 4}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(texts(g), " "); got != "a|3|2.5 b|1|2 ∅|1|∅" || g.Columns[2].Name != "mean of n" {
		t.Errorf("got %s, %q", got, names(g))
	}
}

func TestConcat(t *testing.T) {
	a, b := decode(t, `{"columns": ["x", "y"], "data": [[1, 2]]}`), decode(t, `{"columns": ["y", "run"], "data": [[3, {"_type": "image-file", "path": "p"}]]}`)
	all, err := datatable.Concat(t.Context(), []datatable.Part{{Table: a, Run: "first", Step: new(int64(7))}, {Table: b, Run: "second", From: "from"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(texts(all), " "); got != "first|7|1|2|∅ second|∅|∅|3|p" || strings.Join(names(all), " ") != "run step x y run (2)" {
		t.Errorf("got %s, %q", got, names(all))
	}
	if c := all.Cell(1, 4); c.From != "from" || c.Caption != "" {
		t.Errorf("media: %+v", c)
	}
}

func TestJoin(t *testing.T) {
	a := decode(t, `{"columns": ["id", "guess", "p"], "data": [["x", "cat", 1], ["y", "dog", 2], ["x", "cow", 3]]}`)
	b := decode(t, `{"columns": ["id", "guess", "more"], "data": [["x", "cat", 5], ["z", "ant", 6]]}`)
	j, err := datatable.Join(t.Context(), a, b, [2]string{"id", "id"}, [2]string{"A", "B"})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names(j), ", "); got != "id, differing, guess · A, guess · B, p · A, p · B, more · A, more · B" {
		t.Error(got)
	}
	want := []string{"x|2|cat|cat|1|∅|∅|5", "y|2|dog|∅|2|∅|∅|∅", "x|2|cow|∅|3|∅|∅|∅", "z|2|∅|ant|∅|∅|∅|6"}
	if got := texts(j); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if j.Pairs[2] != 3 || j.Pairs[3] != 2 {
		t.Errorf("pairs: %v", j.Pairs)
	}
	if _, err := datatable.Join(t.Context(), a, b, [2]string{"p", "p"}, [2]string{}); !errors.Is(err, datatable.ErrNoColumn) {
		t.Errorf("no column: %v", err)
	}
}

// A table of the maximum size is decoded, sorted, grouped and written, and takes no more memory
// than it may.
func TestLargeTable(t *testing.T) {
	text, rows := random(rand.New(rand.NewPCG(1, 1)), datatable.MaxRows, 10)
	table := decode(t, text)
	if table.Rows != datatable.MaxRows || table.Cut != "" || table.Size() > datatable.MaxBytes {
		t.Fatalf("%d rows, %d bytes, %q", table.Rows, table.Size(), table.Cut)
	}
	q := datatable.Query{Search: "dog", Sort: 4, Filters: []datatable.Filter{{Column: 2, Op: datatable.AtLeast, Value: "3"}}}
	found := table.Select(q)
	if want := model(rows, "dog", 2, 3, 4, false); !slices.Equal(found, want) {
		t.Errorf("%d rows, want %d", len(found), len(want))
	}
	var csv, parquet bytes.Buffer
	if err := table.WriteCSV(t.Context(), &csv, found, []int{0, 3}); err != nil || bytes.Count(csv.Bytes(), []byte("\n")) != len(found)+1 {
		t.Errorf("CSV: %v", err)
	}
	if err := table.WriteParquet(t.Context(), &parquet, found, []int{0, 3}); err != nil || !bytes.HasSuffix(parquet.Bytes(), []byte("PAR1")) {
		t.Errorf("Parquet: %v", err)
	}
}

func TestCache(t *testing.T) {
	c := datatable.NewCache(4096)
	built := 0
	get := func(key string, cells int) {
		t.Helper()
		_, err := c.Get(t.Context(), key, func() (*datatable.Table, error) {
			built++
			return decode(t, `{"columns": ["a"], "data": [["`+strings.Repeat("x", cells)+`"]]}`), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	get("a", 1500)
	get("b", 1500)
	get("a", 1500)
	if built != 2 {
		t.Errorf("built %d tables", built)
	}
	get("c", 1500) // removes b, which was not used since
	get("a", 1500)
	get("b", 1500)
	if built != 4 {
		t.Errorf("built %d tables", built)
	}
	get("large", 5000)
	get("large", 5000)
	if built != 6 {
		t.Errorf("built %d tables", built)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Get(t.Context(), "d", func() (*datatable.Table, error) {
		return c.Get(ctx, "e", nil) // the slot is taken
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func FuzzDecodeJSON(f *testing.F) {
	f.Add(`{"columns": ["a"], "data": [[NaN, -Infinity, "x"], [[1], {"_type": "image-file", "path": "p"}]]}`)
	f.Fuzz(func(t *testing.T, text string) {
		table, _, err := datatable.DecodeJSON(t.Context(), strings.NewReader(text), datatable.Options{})
		if err == nil && table != nil {
			texts(table)
		}
	})
}
