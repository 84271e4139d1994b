package ui

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/ui/datatable"
	"tracker/ui/plain"
	"tracker/ui/preview"
)

// These constants limit the page of a table.
const (
	tableCacheBytes = 64 << 20
	tablePageRows   = 50
	tablePageMax    = 40        // maximum number of columns of a page
	tableCellMax    = 200       // maximum number of characters of a cell
	tableRowMax     = 128 << 10 // maximum bytes of the texts of a row that is shown in full
	tableFilters    = 20
	tableRuns       = 50
)

// tableFilterFields are the parameters of a query that hold the columns, the conditions and the
// values of the filters.
var tableFilterFields = []string{"fc", "fo", "fv"}

// tableDetailFields are the parameters of a query that select a page, the summary of a column, or a
// row.
var tableDetailFields = []string{"offset", "about", "row"}

// deleteAll deletes parameters from a query.
func deleteAll(q url.Values, names ...string) {
	for _, name := range names {
		q.Del(name)
	}
}

// tableOps are the conditions of filters, with their words.
var tableOps = []struct {
	Op   datatable.Op
	Word string
}{
	{datatable.Contains, "contains"}, {datatable.Equals, "equals"}, {datatable.AtLeast, "≥"}, {datatable.AtMost, "≤"},
	{datatable.IsEmpty, "is empty"}, {datatable.HasValue, "is not empty"},
}

// shownTable is the part of a table that a request selects.
type shownTable struct {
	all     *datatable.Table // the table without groups
	table   *datatable.Table
	rows    []int32
	columns []int // the columns that are not hidden
	search  string
	filters []datatable.Filter
	group   int // index of the column by which all is grouped, or -1
	sort    int // index of the column in table, or -1
	down    bool
}

// tableScope returns the tables that a query selects.
func tableScope(query url.Values) (preview.TableScope, error) {
	s := preview.TableScope{Steps: query.Get("scope") == "steps", Key: query.Get("key")}
	for _, ids := range query["i"] {
		s.Runs = append(s.Runs, strings.Fields(ids)...)
	}
	if len(s.Runs) > tableRuns {
		return s, domain.Invalid("i", "The tables of up to %d runs can be shown together. Select fewer runs.", tableRuns)
	}
	return s, nil
}

// readTable reads a table within the memory budget of the request, and selects its rows.
func (s *site) readTable(ctx context.Context, actor domain.Actor, a files.Artifact, query url.Values) (v shownTable, err error) {
	scope, err := tableScope(query)
	if err != nil {
		return v, err
	}
	read := func(ctx context.Context) (err error) {
		v.all, err = preview.ReadTable(ctx, s.DB, s.tables, actor, a, scope)
		return err
	}
	if share, ok := ctx.Value(shareContext{}).(*web.Share); ok {
		err = share.Hold(ctx, read)
	} else {
		err = read(ctx)
	}
	if err != nil {
		return v, err
	}
	v.search = plain.Readable(query.Get("q"))
	columns, ops, values := query["fc"], query["fo"], query["fv"]
	for i, name := range columns {
		if name == "" || len(v.filters) == tableFilters || i >= len(ops) || i >= len(values) {
			continue
		}
		v.filters = append(v.filters, datatable.Filter{Column: v.all.Column(name), Op: datatable.Op(ops[i]), Value: values[i]})
	}
	v.table, v.group = v.all, v.all.Column(query.Get("group"))
	q := datatable.Query{Search: v.search, Filters: v.filters, Sort: -1}
	sorted, down := strings.CutPrefix(query.Get("sort"), "-")
	if v.group >= 0 {
		if v.table, err = v.all.Group(ctx, v.all.Select(q), v.group); err != nil {
			return v, err
		}
		q = datatable.Query{Sort: -1}
	}
	q.Sort, q.Descending = v.table.Column(sorted), down
	v.rows, v.sort, v.down = v.table.Select(q), q.Sort, down
	for i, c := range v.table.Columns {
		if !slices.Contains(query["hide"], c.Name) {
			v.columns = append(v.columns, i)
		}
	}
	return v, nil
}

// tableView is the view of the page of a table.
type tableView struct {
	ID, Experiment string
	Name           string
	Path           string
	Self           string // path with the state of the page
	Note           string
	Scopes         []link // ways to show the tables of other steps and runs; Status is "here" for the current one
	Keys           []string
	Key            string // column by which the tables of two runs are compared
	Search         string
	Group          string
	Columns        []string // all columns of the table without groups
	Kept           []tableField
	Filters        []tableChip
	Hidden         []tableChip
	Heads          []tableHead
	Rows           []tableRow
	Total, Found   int
	Grouped        bool
	Pager          pager
	About          *tableAbout
	Row            *tableDetail
	CSV, Parquet   string
	All            string // path without search and filters
}

// tableField is a hidden field of a form.
type tableField struct{ Name, Value string }

// tableChip is a filter or a hidden column, with the path of the page without it.
type tableChip struct{ Text, Path string }

type tableHead struct {
	Name   string
	Number bool
	Sort   string // path of the page that is sorted by the column
	Order  string // value of aria-sort, "" if the page is not sorted by the column
	About  string // path of the page with a summary of the column
}

type tableRow struct {
	Number string // 1 for the first row of the table
	Path   string // path of the page with the row in full
	Cells  []tableCell
}

// tableCell is a cell of a page.
type tableCell struct {
	Name     string // column
	Text     string
	Title    string // full text of a shortened number, "" for none
	Number   bool
	Missing  bool
	Differs  bool // whether the cell differs from the cell of the other run
	Link     string
	Media    preview.Kind // Image, Audio or Video; "" for other cells
	Source   string       // path of the bytes of media
	Artifact string       // ID of the artifact of media
	Caption  string
	Name2    string // accessible name of media
}

// tableAbout is a summary of a column.
type tableAbout struct {
	Name, Kind        string
	Facts             []tableField
	Frequent          []tableValue
	Hide, Group, Less string // paths
	Ascending         string
	Descending        string
}

type tableValue struct {
	Text  string
	Count string
	Path  string
}

// tableDetail is a row in full.
type tableDetail struct {
	Number               string
	Cells                []tableCell
	Previous, Next, Less string // paths
}

// tableState makes paths of the page with a changed state.
type tableState struct {
	path  string
	query url.Values
}

// with returns the path after change. The path leads to the first page, and without details.
func (s tableState) with(change func(url.Values)) string {
	q := maps.Clone(s.query)
	for name, values := range q {
		q[name] = slices.Clone(values)
	}
	deleteAll(q, tableDetailFields...)
	change(q)
	if len(q) == 0 {
		return s.path
	}
	return s.path + "?" + q.Encode()
}

func (s tableState) set(name, value string) string {
	return s.with(func(q url.Values) { q.Set(name, value) })
}

// stay is like set, but stays on the page of the table.
func (s tableState) stay(name, value string) string {
	return s.with(func(q url.Values) {
		if offset := s.query.Get("offset"); offset != "" {
			q.Set("offset", offset)
		}
		if value != "" {
			q.Set(name, value)
		}
	})
}

func (s tableState) filtered(column string, op datatable.Op, value string) string {
	return s.with(func(q url.Values) {
		q.Del("group")
		q.Del("sort")
		addFilter(q, column, op, value)
	})
}

func addFilter(q url.Values, column string, op datatable.Op, value string) {
	q.Add("fc", column)
	q.Add("fo", string(op))
	q.Add("fv", value)
}

// tablePath returns the path of an artifact's table.
func tablePath(id string) string { return "/artifact/" + id + "/table" }

// loggedTable shows a page of a table.
func (s *site) loggedTable(w http.ResponseWriter, r *http.Request, user domain.User) error {
	var a files.Artifact
	var f frame
	err := s.view(r, user, func(db *store.View) (err error) {
		if a, err = db.Files.Artifact(idOf(r)); err != nil {
			return err
		}
		e, p, err := s.experimentOf(db, a.ExperimentID)
		if err != nil {
			return err
		}
		f, err = s.inside(db, a.Name, user, place{projectID: p.ID, experimentID: e.ID})
		f.Module = "loggedtable.js"
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID},
			{"Artifacts", "/experiment/" + e.ID + "/artifacts"}, {a.Name, "/artifact/" + a.ID}, {Name: "Table"}}
		return err
	})
	if err != nil {
		return err
	}
	query := r.URL.Query()
	t, err := s.readTable(r.Context(), user.Actor(), a, query)
	if err != nil {
		return err
	}
	v := s.tableView(a, t, query)
	cells, froms := v.cells(t, query)
	var found preview.MediaFinder
	if froms != nil {
		err = s.view(r, user, func(db *store.View) (err error) {
			found, err = preview.FindMedia(r.Context(), db, a, froms)
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, c := range cells {
		c.fill(a, t, found)
	}
	return s.render(w, r, http.StatusOK, loggedTablePage(f, v))
}

// tableView returns the view of a page without the texts of the cells.
func (s *site) tableView(a files.Artifact, t shownTable, query url.Values) *tableView {
	state := tableState{tablePath(a.ID), query}
	v := &tableView{ID: a.ID, Experiment: a.ExperimentID, Name: a.Name, Path: state.path, Search: t.search, Group: query.Get("group"), Total: t.all.Rows, Found: len(t.rows),
		Grouped: t.group >= 0, Note: t.table.Cut, Key: query.Get("key"), Self: state.stay("", "")}
	for _, c := range t.all.Columns {
		v.Columns = append(v.Columns, c.Name)
	}
	for i, c := range query["fc"] {
		if c == "" || i >= len(query["fo"]) || i >= len(query["fv"]) {
			continue
		}
		text := c + " " + query["fo"][i]
		for _, o := range tableOps {
			if string(o.Op) == query["fo"][i] {
				text = c + " " + o.Word
			}
		}
		if value := query["fv"][i]; value != "" {
			text += " " + value
		}
		v.Filters = append(v.Filters, tableChip{plain.Line(plain.Readable(text), tableCellMax), state.with(func(q url.Values) {
			for _, name := range tableFilterFields {
				q[name] = slices.Delete(q[name], i, i+1)
			}
		})})
	}
	for _, name := range query["hide"] {
		v.Hidden = append(v.Hidden, tableChip{plain.Readable(name), state.with(func(q url.Values) {
			q["hide"] = slices.DeleteFunc(q["hide"], func(n string) bool { return n == name })
		})})
	}
	v.Kept = tableFields(query, "q", "group", "offset", "about", "row")
	v.scopes(a, state, query)
	selected := strings.TrimPrefix(state.with(func(url.Values) {}), v.Path)
	v.CSV, v.Parquet = v.Path+".csv"+selected, v.Path+".parquet"+selected
	v.All = state.with(func(q url.Values) { deleteAll(q, slices.Concat(tableFilterFields, []string{"q"})...) })
	if more := len(t.columns) - tablePageMax; more > 0 {
		v.Note = strings.TrimSpace(v.Note + fmt.Sprintf(" The first %d of %d columns are shown; hide columns to see the others.", tablePageMax, len(t.columns)))
	}
	for _, i := range t.columns[:min(len(t.columns), tablePageMax)] {
		c := t.table.Columns[i]
		h := tableHead{Name: plain.Readable(c.Name), Number: c.Kind() == datatable.Number, About: state.stay("about", c.Name), Sort: state.set("sort", c.Name)}
		if i == t.sort {
			if h.Order = "ascending"; t.down {
				h.Order = "descending"
			}
			if !t.down {
				h.Sort = state.set("sort", "-"+c.Name)
			}
		}
		v.Heads = append(v.Heads, h)
	}
	if at := t.table.Column(query.Get("about")); query.Has("about") && at >= 0 {
		v.About = aboutColumn(t, at, state)
	}
	return v
}

// tableFields returns the parameters of a query except those that a form sets.
func tableFields(query url.Values, except ...string) (all []tableField) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			if !slices.Contains(except, name) {
				all = append(all, tableField{name, value})
			}
		}
	}
	return all
}

// scopes fills in the links to the tables of other steps and runs.
func (v *tableView) scopes(a files.Artifact, state tableState, query url.Values) {
	if a.IterationID == nil {
		return
	}
	several := len(query["i"]) > 0
	add := func(name string, here bool, change func(url.Values)) {
		l := link{Name: name, Path: state.with(func(q url.Values) {
			deleteAll(q, slices.Concat(tableFilterFields, []string{"scope", "key", "sort", "group"})...)
			change(q)
		})}
		if here {
			l.Status = "here"
		}
		v.Scopes = append(v.Scopes, l)
	}
	steps := query.Get("scope") == "steps"
	if !several {
		add("This table", !steps, func(url.Values) {})
		add("All steps of the run", steps, func(q url.Values) { q.Set("scope", "steps") })
		return
	}
	add("This table only", false, func(q url.Values) { q.Del("i") })
	add("Selected runs, last step", !steps, func(url.Values) {})
	add("Selected runs, all steps", steps, func(q url.Values) { q.Set("scope", "steps") })
	if n := len(strings.Fields(strings.Join(query["i"], " "))); n == 2 {
		v.Keys = slices.DeleteFunc(slices.Clone(v.Columns), func(c string) bool {
			return c == "run" || c == "step" || c == "differing" || strings.Contains(c, " · ")
		})
		if v.Key != "" && !slices.Contains(v.Keys, v.Key) {
			v.Keys = append(v.Keys, v.Key)
		}
	}
}

// kindWords are the kinds of columns in words.
var kindWords = map[datatable.Kind]string{datatable.Number: "numbers", datatable.Bool: "booleans", datatable.Text: "texts", datatable.List: "lists",
	datatable.Media: "media", datatable.Missing: "empty"}

// aboutColumn returns the summary of a column in the rows that are selected.
func aboutColumn(t shownTable, at int, state tableState) *tableAbout {
	sum, name := t.table.Summarize(t.rows, at), t.table.Columns[at].Name
	a := &tableAbout{Name: plain.Readable(name), Kind: kindWords[sum.Kind], Less: state.stay("", ""), Ascending: state.set("sort", name),
		Descending: state.set("sort", "-"+name), Hide: state.with(func(q url.Values) { q.Add("hide", name) })}
	if t.group < 0 {
		a.Group = state.with(func(q url.Values) { q.Set("group", name); q.Del("sort"); q.Del("hide") })
	}
	fact := func(name, value string) { a.Facts = append(a.Facts, tableField{name, value}) }
	fact("Rows", humanize.Comma(int64(sum.Count)))
	fact("Empty", humanize.Comma(int64(sum.Missing)))
	fact("Different values", humanize.Comma(int64(sum.Distinct)))
	if sum.Numbers > 0 {
		fact("Minimum", shortNumber(sum.Min))
		fact("Mean", shortNumber(sum.Mean))
		fact("Maximum", shortNumber(sum.Max))
	}
	for _, f := range sum.Frequent {
		value := tableValue{Text: plain.Line(plain.Readable(f.Text), tableCellMax), Count: humanize.Comma(int64(f.Count))}
		if t.group < 0 {
			value.Path = state.filtered(name, datatable.Equals, f.Text)
		}
		a.Frequent = append(a.Frequent, value)
	}
	return a
}

func shortNumber(v float64) string {
	text := datatable.FormatNumber(v)
	if len(text) > 10 {
		text = strconv.FormatFloat(v, 'g', 6, 64)
	}
	return text
}

// pendingCell is a cell of the page that is to be filled in.
type pendingCell struct {
	*tableCell
	cell datatable.Cell
	long bool
}

// cells creates the rows of the page. It returns their cells, and the sources of media; nil if the
// page has no media.
func (v *tableView) cells(t shownTable, query url.Values) (all []pendingCell, froms []string) {
	state := tableState{v.Path, query}
	page := domain.Page{Limit: tablePageRows, Offset: pageOf(query).Offset}
	rows := t.rows[min(page.Offset, len(t.rows)):]
	rows = rows[:min(len(rows), tablePageRows)]
	pending := func(into []tableCell, row int, columns []int, long bool) {
		for at, i := range columns {
			c := t.table.Cell(row, i)
			into[at] = tableCell{Name: plain.Readable(t.table.Columns[i].Name)}
			if other, paired := t.table.Pairs[i]; paired {
				into[at].Differs = !datatable.SameCell(c, t.table.Cell(row, other))
			}
			if i == 0 && t.group >= 0 {
				op, value := datatable.Equals, c.Text
				if c.Kind == datatable.Missing {
					op, value = datatable.IsEmpty, ""
				}
				into[at].Link = state.filtered(t.table.Columns[0].Name, op, value)
			}
			if c.Kind == datatable.Media {
				froms = append(froms, c.From)
			}
			all = append(all, pendingCell{&into[at], c, long})
		}
	}
	for _, row := range rows {
		r := tableRow{Number: humanize.Comma(int64(row) + 1), Cells: make([]tableCell, min(len(t.columns), tablePageMax))}
		if t.group < 0 {
			r.Path = state.stay("row", strconv.Itoa(int(row)))
		}
		pending(r.Cells, int(row), t.columns[:len(r.Cells)], false)
		v.Rows = append(v.Rows, r)
	}
	keep := maps.Clone(query)
	deleteAll(keep, tableDetailFields...)
	v.Pager = newPager(keep, page, len(rows), len(t.rows))
	row, err := strconv.Atoi(query.Get("row"))
	if err != nil || row < 0 || row >= t.table.Rows || t.group >= 0 {
		return all, froms
	}
	d := &tableDetail{Number: humanize.Comma(int64(row) + 1), Cells: make([]tableCell, len(t.table.Columns)), Less: state.stay("", "")}
	if at := slices.Index(t.rows, int32(row)); at >= 0 {
		if at > 0 {
			d.Previous = state.stay("row", strconv.Itoa(int(t.rows[at-1])))
		}
		if at+1 < len(t.rows) {
			d.Next = state.stay("row", strconv.Itoa(int(t.rows[at+1])))
		}
	}
	columns := make([]int, len(d.Cells))
	for i := range columns {
		columns[i] = i
	}
	pending(d.Cells, row, columns, true)
	v.Row = d
	return all, froms
}

// fill fills in the text of a cell, or the source of its media.
func (c pendingCell) fill(a files.Artifact, t shownTable, found preview.MediaFinder) {
	most := tableCellMax
	if c.long {
		most = tableRowMax / max(1, len(t.table.Columns))
	}
	full := plain.Readable(c.cell.Text)
	if c.Text = full; len(full) > most || !c.long {
		c.Text = plain.Line(full, most)
	}
	switch c.cell.Kind {
	case datatable.Missing:
		c.Missing = true
	case datatable.Number:
		if c.Number = true; !c.long && len(c.cell.Text) > 10 {
			if short := shortNumber(c.cell.Number); len(short) < len(c.cell.Text) {
				c.Text, c.Title = short, c.cell.Text
			}
		}
	case datatable.Text:
		if c.Link == "" && isWebLink(c.cell.Text) {
			c.tableCell.Link = c.cell.Text
		}
	case datatable.Media:
		file, ok := found.Find(a, c.cell)
		if !ok {
			c.Title = "This file is not among the files of the run."
			return
		}
		c.Artifact, c.Caption = file.ID, plain.Line(plain.Readable(c.cell.Caption), tableCellMax)
		c.Name2 = plain.Line(c.Name+": "+plain.Readable(file.Name), tableCellMax)
		switch kind := preview.KindOf(file); kind {
		case preview.Image, preview.Audio, preview.Video:
			c.Media, c.Source = kind, "/artifact/"+file.ID+"/data"
		}
	}
}

// isWebLink reports whether a text is the address of a web page.
func isWebLink(text string) bool {
	if !strings.HasPrefix(text, "https://") && !strings.HasPrefix(text, "http://") || len(text) > 2000 || strings.ContainsAny(text, " \n\t") {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && u.Host != ""
}

// tableCSV responds with all rows that the page's state selects, as CSV.
func (s *site) tableCSV(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.tableFile(w, r, user, ".csv", "text/csv; charset=utf-8; header=present", func(t shownTable, out io.Writer) error {
		return t.table.WriteCSV(r.Context(), out, t.rows, t.columns)
	})
}

// tableParquet responds with all rows that the page's state selects, as a Parquet file.
func (s *site) tableParquet(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.tableFile(w, r, user, ".parquet", "application/vnd.apache.parquet", func(t shownTable, out io.Writer) error {
		return t.table.WriteParquet(r.Context(), out, t.rows, t.columns)
	})
}

func (s *site) tableFile(w http.ResponseWriter, r *http.Request, user domain.User, ending, contentType string, write func(shownTable, io.Writer) error) error {
	actor := user.Actor()
	a, err := s.DB.Files.Artifact(r.Context(), actor, idOf(r))
	if err != nil {
		return err
	}
	t, err := s.readTable(r.Context(), actor, a, r.URL.Query())
	if err != nil {
		return err
	}
	name := a.Name[strings.LastIndexByte(a.Name, '/')+1:]
	for _, end := range []string{".json", ".csv", ".tsv", ".table"} {
		name = strings.TrimSuffix(name, end)
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Disposition", web.Attachment(name+ending))
	out := bufio.NewWriterSize(w, 64<<10)
	if err = write(t, out); err == nil {
		err = out.Flush()
	}
	if err != nil {
		breakOff(r, err)
	}
	return nil
}
