package ui_test

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tracker/store/files"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/transfer/parquet"
)

// tables holds two runs with tables of W&B's client and of the Python client.
type tables struct {
	sweep
	ids map[string]string // artifacts by run number and name
}

// tables creates the tables.
func (s *site) tables() tables {
	s.t.Helper()
	t := tables{s.sweep(0, 0), map[string]string{}}
	for i := range 2 {
		run := s.run(t.experiment, runs.NewIteration{Name: new(fmt.Sprintf("run %d", i))})
		t.runs = append(t.runs, run)
		add := func(name, contentType, content string) {
			t.ids[fmt.Sprint(i, " ", name)] = s.keep(t.experiment, files.NewArtifact{Name: name, ContentType: contentType, IterationID: run}, content)
		}
		add("media/images/cat.png", "image/png", picture(uint8(40*i)))
		add("media/images/b.png", "image/png", picture(9))
		add("sound.wav", "audio/wav", silence(1))
		for step := range 2 {
			var rows []string
			for n := range 60 {
				rows = append(rows, fmt.Sprintf(`["id %02d", %d, {"_type": "image-file", "path": "media/images/cat.png", "caption": "a <b>cat</b>"}, %q]`, n, n*(step+1)+i, []string{"cat", "dog"}[n*(i+1)%2]))
			}
			add(fmt.Sprintf("media/table/guesses_%d_0123456789abcdef0123.table.json", step), "application/json",
				`{"columns": ["id", "score", "picture", "guess"], "data": [`+strings.Join(rows, ",")+`]}`)
		}
		add("own_3.csv", "text/csv", "name,picture,sound,page,gone\n<script>window.ran='bad'</script>,own_3/picture_0,own_3/sound_0,https://example.com/a?b=<c>,own_3/gone_0\n"+
			"=1+1,x,y,javascript:alert(1),\n")
		add("own_3/picture_0.png", "image/png", picture(3))
		add("own_3/sound_0.wav", "audio/wav", silence(1))
		add("v:v0/half.partitioned-table.json", "application/json", `{"_type": "partitioned-table", "parts_path": "parts"}`)
		add("v:v0/parts/1.table.json", "application/json", `{"columns": ["a"], "data": [["first part"]]}`)
		add("v:v0/parts/2.table.json", "application/json", `{"columns": ["a"], "data": [["second part"]]}`)
		add("v:v0/both.joined-table.json", "application/json", `{"_type": "joined-table", "table1": "parts/1.table.json", "table2": "t2.table.json", "join_key": ["a", "key"]}`)
		add("v:v0/t2.table.json", "application/json", `{"columns": ["key", "more"], "data": [["first part", "found"], ["other", "alone"]]}`)
	}
	return t
}

func (t tables) path(name string, query ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		q.Add(query[i], query[i+1])
	}
	return "/artifact/" + t.ids[name] + "/table?" + q.Encode()
}

const guesses = "media/table/guesses_1_0123456789abcdef0123.table.json"

func TestTablePage(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.tables()
	image := "/artifact/" + w.ids["0 media/images/cat.png"] + "/data"
	s.get(w.path("0 "+guesses)).wants(t, 200, "60 rows", "1–50 of 60", "id 00", "id 49", image, "a &lt;b&gt;cat&lt;/b&gt;", `loading="lazy"`, "All steps of the run")
	s.get(w.path("0 "+guesses)).lacks(t, "id 50", "<b>cat")
	s.get(w.path("0 "+guesses, "offset", "50")).wants(t, 200, "51–60 of 60", "id 59")
	s.get(w.path("0 "+guesses, "offset", "5000")).wants(t, 200, "past the end")
	first := s.get(w.path("0 "+guesses, "sort", "-score"))
	first.wants(t, 200, `aria-sort="descending"`)
	if a, b := strings.Index(first.body, "id 59<"), strings.Index(first.body, "id 10<"); a < 0 || a > b {
		t.Error("the rows are not sorted as numbers")
	}
	s.get(w.path("0 "+guesses, "q", "ID 0", "fc", "score", "fo", "min", "fv", "10")).wants(t, 200, "5 of 60 rows", "score ≥ 10")
	s.get(w.path("0 "+guesses, "q", "nothing")).wants(t, 200, "No row matches")
	s.get(w.path("0 "+guesses, "fc", "unknown", "fo", "min", "fv", "1")).wants(t, 200, "No row matches")
	s.get(w.path("0 "+guesses, "group", "guess")).wants(t, 200, "2 groups of 60 rows", "mean of score", "<bdi>58</bdi>", "<bdi>60</bdi>")
	s.get(w.path("0 "+guesses, "about", "guess")).wants(t, 200, "Most frequent values", "Group by this column", "fv=dog")
	s.get(w.path("0 "+guesses, "row", "7")).wants(t, 200, "Row 8", "Previous row", "id 07")
	s.get(w.path("0 "+guesses, "hide", "picture")).lacks(t, image)

	// The rows of all steps and of two runs.
	s.get(w.path("0 "+guesses, "scope", "steps")).wants(t, 200, "120 rows", `data-column="run"`, `data-column="step"`)
	both := strings.Join(w.runs, " ")
	s.get(w.path("0 "+guesses, "i", both)).wants(t, 200, "120 rows", "Selected runs, all steps", "Compare by")
	s.get(w.path("0 "+guesses, "i", both, "scope", "steps")).wants(t, 200, "240 rows")
	s.get(w.path("0 "+guesses, "i", both, "sort", "-run")).wants(t, 200, "/artifact/"+w.ids["1 media/images/cat.png"]+"/data")
	compared := s.get(w.path("0 "+guesses, "i", both, "key", "id", "sort", "-differing"))
	compared.wants(t, 200, "60 rows", "score · run 0", "guess · run 1", `differs`)
	s.get(w.path("0 "+guesses, "i", both, "key", "unknown")).wants(t, 422, "no column with this name")
	s.get(w.path("0 "+guesses, "i", strings.Repeat("x ", 60))).wants(t, 422, "up to 50 runs")

	// A table of the Python client: its media, a link, and hostile texts.
	own := s.get(w.path("0 own_3.csv"))
	own.wants(t, 200, "&lt;script&gt;", "/artifact/"+w.ids["0 own_3/picture_0.png"]+"/data", "<audio", `href="https://example.com/a?b=`, `rel="noopener noreferrer nofollow"`, "not among the files")
	own.lacks(t, "<script>window", `href="javascript`)
	s.get("/artifact/"+w.ids["0 own_3.csv"]).wants(t, 200, "Open table", w.ids["0 own_3.csv"]+"/table")

	// Tables that consist of other tables.
	s.get(w.path("0 v:v0/half.partitioned-table.json")).wants(t, 200, "2 rows", "first part", "second part")
	s.get(w.path("0 v:v0/both.joined-table.json")).wants(t, 200, "2 rows", "found", "alone")
	s.get(w.path("0 media/images/cat.png")).wants(t, 404, "not a table")
}

func TestTableDownloads(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.tables()
	base, query, _ := strings.Cut(w.path("0 "+guesses, "sort", "-score", "fc", "guess", "fo", "equals", "fv", "cat", "hide", "picture"), "?")
	a := s.get(base + ".csv?" + query)
	a.wants(t, 200)
	rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
	if err != nil || len(rows) != 31 || !slices.Equal(rows[0], []string{"id", "score", "guess"}) || !slices.Equal(rows[1], []string{"id 58", "116", "cat"}) {
		t.Errorf("CSV: %v, %d rows, %v", err, len(rows), rows[:min(2, len(rows))])
	}
	s.get(strings.TrimSuffix(w.path("0 own_3.csv"), "?")+".csv").wants(t, 200, "'=1+1")
	p := s.get(base + ".parquet?" + query)
	p.wants(t, 200)
	if _, err := parquet.Open(strings.NewReader(p.body), int64(len(p.body))); err != nil {
		t.Errorf("Parquet: %v", err)
	}
}

// Nobody sees the rows of a table without the right to read its project, also not from the cache,
// and not by naming a run of another project.
func TestTableRights(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	w := s.tables()
	alice, other := with(s.signIn("alice")), with(s.signIn("bob"))
	s.get(w.path("0 "+guesses), alice).wants(t, 200, "id 00")
	for _, ending := range []string{"", ".csv", ".parquet"} {
		path := strings.Replace(w.path("0 "+guesses), "/table?", "/table"+ending+"?", 1)
		s.get(path, other).wants(t, 403)
	}
	project := s.project("bob", "own", "", 0, 0)
	e := must(s.db.Projects.CreateExperiment(t.Context(), s.actor("bob"), project, projects.NewExperiment{Name: "own"}))(t)
	run := must(s.db.Runs.CreateIteration(t.Context(), s.actor("bob"), e.ID, runs.NewIteration{}))(t)
	data := must(s.db.Files.Receive(t.Context(), strings.NewReader(`{"columns": ["x"], "data": [[1]]}`), ""))(t)
	defer data.Discard()
	made := must(s.db.Files.CreateArtifact(t.Context(), s.actor("bob"), e.ID, files.NewArtifact{Name: guesses, IterationID: run.ID}, data))(t)
	s.get("/artifact/"+made.ID+"/table?i="+w.runs[0], other).lacks(t, "id 00")
}

// A JSON table that is too large for a tree has a preview too.
func TestLargeTablePreview(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(0, 0)
	id := s.keep(w.experiment, files.NewArtifact{Name: "rows.json"}, `{"columns": ["a", "b"], "data": [["x", 1]`+strings.Repeat(`,["`+strings.Repeat("long ", 20)+`", 2]`, 20_000)+`]}`)
	s.get("/artifact/"+id).wants(t, 200, `data-kind="table"`, "The first 200 rows of 2.", "Open table")
	s.get("/artifact/"+id+"/table").wants(t, 200, "20,001 rows")
	other := s.keep(w.experiment, files.NewArtifact{Name: "other.json"}, `{"columns": 1, "text": "`+strings.Repeat("x", 2<<20)+`"}`)
	s.get("/artifact/"+other).wants(t, 200, `data-kind="text"`)
}

func TestBrowserTable(t *testing.T) {
	t.Parallel()
	s := start(t, setup{base: "/lab"})
	w := s.tables()
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url+s.base+w.path("0 "+guesses)))
	found := `document.querySelector('[data-testid="found"]').textContent.trim()`
	cell := func(row, column int) string {
		return fmt.Sprintf(`document.querySelector('.logged tbody').rows[%d].cells[%d].textContent.trim()`, row, column)
	}
	b.is(found, "60 rows")
	b.is(`document.querySelector('.logged tbody img').naturalWidth`, "32")
	b.press(`th[data-column="score"] a`)
	b.is(`document.querySelector('[aria-sort]')?.dataset.column`, "score")
	b.press(`th[data-column="score"] a`)
	b.is(cell(0, 1), "id 59")

	// The search, a filter, and the widths of columns are in the address.
	b.do(chromedp.Focus(chromedp.CSS(`th[data-column="id"] [data-testid="edge"]`)))
	b.is(`document.activeElement.getAttribute('role')`, "separator")
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.is(`new URLSearchParams(location.search).get('w').endsWith(' id')`, "true")
	width := b.text(`document.querySelector('th[data-column="id"]').offsetWidth`)
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="q"]`), "dog"))
	b.press(`.logged form.strip button`)
	b.is(found, "30 of 60 rows")
	b.is(cell(0, 1), "id 59")
	b.is(`document.querySelector('th[data-column="id"]').offsetWidth`, width)
	b.is(`new URLSearchParams(location.search).has('fc')`, "false")

	// A click on a frequent value filters; the chip removes the filter.
	b.press(`th[data-column="guess"] .more`)
	b.is(`document.querySelectorAll('[data-testid="about"] .frequent li').length`, "1")
	b.press(`[data-testid="hide"]`)
	b.is(`document.querySelector('th[data-column="guess"]')`, "null")
	b.press(`[data-testid="hidden"]`)
	b.is(`document.querySelectorAll('th[data-column="guess"]').length`, "1")

	// An image is enlarged, and the arrow key shows the next one.
	b.press(`.logged .picture`)
	b.is(`document.querySelector('dialog.large [data-testid="large-caption"]')?.textContent`, "a <b>cat</b>")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.is(`document.querySelector('dialog.large')`, "null")

	b.do(chromedp.Navigate(s.url + s.base + w.path("0 "+guesses, "i", strings.Join(w.runs, " "))))
	b.value(`[data-testid="key"]`, "id")
	b.is(`document.querySelectorAll('.logged td.differs').length > 0`, "true")
	b.fits()
	b.quiet()
}
