package ui_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// keepFiles makes the page keep the last file that it saves instead of downloading it.
const keepFiles = `URL.createObjectURL = (blob) => { window.kept = blob; return 'data:,'; };
	HTMLAnchorElement.prototype.click = () => {};`

// saved presses a button that saves a file, and returns the file.
func (b *browser) saved(button string) []byte {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](keepFiles+`window.kept = null; window.bytes = '';`), chromedp.Evaluate[chromedp.Void](button+`.click()`))
	b.is(`Boolean(window.kept)`, "true")
	b.do(chromedp.Evaluate[chromedp.Void](`(() => { const r = new FileReader(); r.onload = () => { window.bytes = r.result; }; r.readAsDataURL(window.kept); })()`))
	b.is(`window.bytes !== ''`, "true")
	_, data, _ := strings.Cut(b.text(`window.bytes`), ",")
	file, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		b.t.Fatal(err)
	}
	return file
}

var (
	pdfObject = regexp.MustCompile(`^(\d+) 0 obj\n`)
	pdfLength = regexp.MustCompile(`/Length (\d+)`)
	pdfRow    = regexp.MustCompile(`^(\d{10}) (\d{5}) ([nf]) \n$`)
)

// readPDF checks the structure of a PDF file and returns the commands of its page. It accepts only
// files in which each offset and each length is exact, unlike most readers, which repair files.
func readPDF(file []byte) (content string, err error) {
	wrong := func(format string, args ...any) (string, error) { return "", fmt.Errorf(format, args...) }
	if !bytes.HasPrefix(file, []byte("%PDF-1.4\n%")) || !bytes.HasSuffix(file, []byte("\n%%EOF\n")) {
		return wrong("the header or the end is missing")
	}
	rest := file[bytes.LastIndex(file, []byte("startxref\n"))+len("startxref\n"):]
	number, _, _ := bytes.Cut(rest, []byte("\n"))
	table, err := strconv.Atoi(string(number))
	if err != nil || table >= len(file) || !bytes.HasPrefix(file[table:], []byte("xref\n0 ")) {
		return wrong("startxref %s does not point to the table", number)
	}
	head, rows, _ := bytes.Cut(file[table+len("xref\n0 "):], []byte("\n"))
	count, err := strconv.Atoi(string(head))
	if err != nil || count < 2 || len(rows) < 20*count || !bytes.HasPrefix(rows[20*count:], []byte("trailer\n<< ")) {
		return wrong("the table has not %s rows", head)
	}
	if trailer := string(rows[20*count:]); !strings.Contains(trailer, "/Size "+string(head)+" ") || !strings.Contains(trailer, "/Root 1 0 R") {
		return wrong("the trailer is %q", trailer)
	}
	next := len("%PDF-1.4\n") + bytes.IndexByte(file[len("%PDF-1.4\n"):], '\n') + 1
	for i := range count {
		row := pdfRow.FindStringSubmatch(string(rows[20*i : 20*i+20]))
		if row == nil || (i == 0) != (row[3] == "f") || i == 0 && row[2] != "65535" {
			return wrong("row %d of the table is %q", i, rows[20*i:20*i+20])
		}
		if i == 0 {
			continue
		}
		at, _ := strconv.Atoi(row[1])
		if at != next { // objects follow each other without other bytes between them
			return wrong("object %d is at %d, not at %d", i, next, at)
		}
		body := file[at:table]
		if m := pdfObject.FindSubmatch(body); m == nil || string(m[1]) != strconv.Itoa(i) {
			return wrong("no object %d at %d", i, at)
		}
		_, after, _ := bytes.Cut(body, []byte("\n"))
		dictionary, after, ok := bytes.Cut(after, []byte("\n"))
		if !ok || bytes.Count(dictionary, []byte("<<")) != bytes.Count(dictionary, []byte(">>")) {
			return wrong("object %d has the dictionary %q", i, dictionary)
		}
		for _, m := range regexp.MustCompile(`(\d+) 0 R`).FindAllSubmatch(dictionary, -1) {
			if n, _ := strconv.Atoi(string(m[1])); n < 1 || n >= count {
				return wrong("object %d refers to object %d", i, n)
			}
		}
		if stream, ok := bytes.CutPrefix(after, []byte("stream\n")); ok {
			m := pdfLength.FindSubmatch(dictionary)
			if m == nil {
				return wrong("the stream of object %d has no length", i)
			}
			length, _ := strconv.Atoi(string(m[1]))
			if length > len(stream) || !bytes.HasPrefix(stream[length:], []byte("\nendstream\n")) {
				return wrong("the stream of object %d does not end after %d bytes", i, length)
			}
			r, err := zlib.NewReader(bytes.NewReader(stream[:length]))
			if err != nil {
				return "", err
			}
			text, err := io.ReadAll(r)
			if err != nil {
				return "", err
			}
			if strings.Contains(string(dictionary), "/Subtype /Image") {
				size := regexp.MustCompile(`/Width (\d+) /Height (\d+)`).FindSubmatch(dictionary)
				w, _ := strconv.Atoi(string(size[1]))
				h, _ := strconv.Atoi(string(size[2]))
				if len(text) != w/8*h {
					return wrong("the image of object %d has %d bytes", i, len(text))
				}
			} else {
				content += string(text)
			}
			after = stream[length+len("\nendstream\n"):]
		}
		if !bytes.HasPrefix(after, []byte("endobj\n")) {
			return wrong("object %d does not end", i)
		}
		next = len(file[:table]) - len(after) + len("endobj\n")
	}
	if next != table {
		return wrong("there are bytes between the last object and the table")
	}
	return content, checkOperators(content)
}

// pdfOperands is the number of operands of each operator that figures use.
var pdfOperands = map[string]int{"gs": 1, "q": 0, "Q": 0, "re": 4, "W": 0, "n": 0, "RG": 3, "rg": 3, "w": 1, "j": 1, "J": 1, "d": 2,
	"m": 2, "l": 2, "S": 0, "h": 0, "f": 0, "BT": 0, "ET": 0, "Tf": 2, "Tm": 6, "Tj": 1, "cm": 6, "Do": 1}

// checkOperators checks the operators of a page, their operands, and that q and Q are balanced.
func checkOperators(content string) error {
	depth, operands := 0, 0
	for _, word := range strings.Fields(regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(content, "0")) {
		if _, err := strconv.ParseFloat(word, 64); err == nil || word[0] == '/' || word[0] == '<' {
			operands++
			continue
		}
		wanted, ok := pdfOperands[word]
		if !ok || operands != wanted {
			return fmt.Errorf("the operator %s has %d operands", word, operands)
		}
		operands = 0
		if depth += map[string]int{"q": 1, "Q": -1}[word]; depth < 0 {
			return errors.New("Q without q")
		}
	}
	if depth != 0 || operands != 0 {
		return errors.New("q without Q, or operands without an operator")
	}
	return nil
}

// TestReadPDF checks that the strict reader of these tests finds wrong offsets and lengths.
func TestReadPDF(t *testing.T) {
	var file bytes.Buffer
	file.WriteString("%PDF-1.4\n%\xe2\xe3\n")
	first := file.Len()
	file.WriteString("1 0 obj\n<< /Type /Catalog >>\nendobj\n")
	second := file.Len()
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	w.Write([]byte("q 1 2 m Q"))
	w.Close()
	fmt.Fprintf(&file, "2 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\n", packed.Len(), packed.String())
	table := file.Len()
	fmt.Fprintf(&file, "xref\n0 3\n0000000000 65535 f \n%010d 00000 n \n%010d 00000 n \ntrailer\n<< /Size 3 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", first, second, table)
	if content, err := readPDF(file.Bytes()); err != nil || content != "q 1 2 m Q" {
		t.Errorf("%q, %v", content, err)
	}
	for old, changed := range map[string]string{
		fmt.Sprintf("%010d", second): fmt.Sprintf("%010d", second+1), fmt.Sprintf("/Length %d", packed.Len()): fmt.Sprintf("/Length %d", packed.Len()-1),
		"/Size 3": "/Size 4", "startxref\n": "startxref\n1", "endobj\n2": "endobj\n\n2", "0 3\n": "0 2\n",
	} {
		if _, err := readPDF(bytes.Replace(file.Bytes(), []byte(old), []byte(changed), 1)); err == nil {
			t.Errorf("%q instead of %q is accepted", changed, old)
		}
	}
	for _, content := range []string{"q", "Q q", "1 m", "1 2 m 3", "1 2 x"} {
		if checkOperators(content) == nil {
			t.Errorf("%q is accepted", content)
		}
	}
}

// TestFigureMarks saves a chart with values that are not finite. The SVG, the PDF and the PNG have
// the marks of the chart, and the legend explains them.
func TestFigureMarks(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(1, 0)
	s.record(w.runs[0], "loss", upTo(12), func(step int) float64 {
		switch step {
		case 2:
			return math.NaN()
		case 5:
			return math.Inf(1)
		case 8:
			return math.Inf(-1)
		}
		return float64(step)
	})
	s.record(w.runs[0], "same", upTo(10), func(step int) float64 { return float64(step) })
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(s.url+"/iteration/"+w.runs[0]))
	save := func(key, format string) []byte {
		t.Helper()
		b.is(`document.querySelector('[data-key="`+key+`"]')?.dataset.drawn`, "1")
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[aria-label="Options: ` + key + `"]').click()`))
		b.is(`Boolean(document.querySelector('[data-testid="chart-options"]')?.open)`, "true")
		file := b.saved(`[...document.querySelectorAll('[data-testid="chart-options"] button')].find((e) => e.textContent === '` + format + `')`)
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-testid="chart-options"]').close()`))
		return file
	}
	legend := []string{"NaN (not a number)", ">Infinity<", ">-Infinity<"}
	svg, plain := string(save("loss", "SVG")), string(save("same", "SVG"))
	for _, text := range legend {
		if strings.Count(svg, text) != 1 || strings.Contains(plain, text) {
			t.Errorf("%q is %d times in the figure and %d times in the figure without marks", text, strings.Count(svg, text), strings.Count(plain, text))
		}
	}
	// A cross has two lines, and a triangle is an area. Each is once in the plot and once in the legend.
	lines, areas := regexp.MustCompile(`d="M[\d. ]+L[\d. ]+" fill="none"`), regexp.MustCompile(`d="M[\d. ]+L[\d. ]+L[\d. ]+Z"`)
	if n := len(areas.FindAllString(svg, -1)); n != 4 {
		t.Errorf("%d triangles", n)
	}
	crosses := 0
	for _, m := range regexp.MustCompile(`d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)" fill="none"`).FindAllStringSubmatch(svg, -1) {
		if m[1] != m[3] && m[2] != m[4] { // grid lines and ticks are straight
			crosses++
		}
	}
	if crosses < 4 {
		t.Errorf("%d diagonal lines of %d", crosses, len(lines.FindAllString(svg, -1)))
	}
	content, err := readPDF(save("loss", "PDF"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"NaN (not a number)", "Infinity", "-Infinity"} {
		if !strings.Contains(content, fmt.Sprintf("<%x> Tj", text)) {
			t.Errorf("the PDF has no text %q", text)
		}
	}
	if n := strings.Count(content, "h f"); n != 4 {
		t.Errorf("the PDF has %d areas", n)
	}
	picture, err := png.DecodeConfig(bytes.NewReader(save("loss", "PNG")))
	if err != nil || picture.Width < 2000 || picture.Height <= 0 {
		t.Errorf("%v, %v", picture, err)
	}
	b.quiet()
}

// valueRuns creates an experiment with n runs. The value of run i is i+1, and the last one of each
// 20 has no value.
func (s *site) valueRuns(n int) (experiment string, ids []string) {
	s.t.Helper()
	p := must(s.db.Projects.CreateProject(s.t.Context(), domain.System, domain.NewProject{Name: "many"}))(s.t)
	e := must(s.db.Projects.CreateExperiment(s.t.Context(), domain.System, p.ID, projects.NewExperiment{Name: "many"}))(s.t)
	for i := range n {
		id := s.run(e.ID, runs.NewIteration{Name: new(fmt.Sprintf("run %03d", i))})
		must(s.db.Runs.CreateParameter(s.t.Context(), domain.System, id, "lr", scalar.Text(fmt.Sprint(float64(i+1)/100))))(s.t)
		must(s.db.Runs.CreateParameter(s.t.Context(), domain.System, id, "kind", scalar.Text([]string{"a", "b"}[i%2])))(s.t)
		s.record(id, "loss", upTo(1), func(int) float64 {
			if i%20 == 19 {
				return math.NaN()
			}
			return float64(i + 1)
		})
		ids = append(ids, id)
		s.clock.move(1e9)
	}
	return e.ID, ids
}

// viewOfPanels saves a view with panels of an experiment and returns the path of its page.
func (s *site) viewOfPanels(experiment string, panels ...projects.Panel) string {
	s.t.Helper()
	for i := range panels {
		panels[i].ID = fmt.Sprint("p", i+1)
	}
	v := must(s.db.Projects.CreateSavedView(s.t.Context(), s.actor("alice"), experiment, projects.NewSavedView{Name: "panels",
		Panels: &projects.Layout{Sections: []projects.Section{{Name: "Values", Panels: panels}}}}))(s.t)
	return "/experiment/" + experiment + "?view=" + v.ID
}

var valuePanels = []projects.Panel{{Type: projects.BarPanel, X: "metric.loss"}, {Type: projects.ScatterPanel, X: "param.lr", Y: "metric.loss.max"},
	{Type: projects.HistogramPanel, X: "param.kind"}}

// TestPanelsOfAllRuns opens panels without curves. They cover all runs that pass the filter, also
// runs that are not drawn, and follow the filter.
func TestPanelsOfAllRuns(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, ids := s.valueRuns(300)
	page := s.viewOfPanels(experiment, valuePanels...)
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 1000), chromedp.Navigate(s.url+page+"&sort=name"))
	points := func(panel string) string {
		return `document.querySelector('[data-key="panel:` + panel + `"] [data-testid="points"]')?.textContent`
	}
	b.is(points("p1"), "300 runs, 10 drawn") // bars list NaN, too
	b.is(points("p2"), "285 of 300 runs, 10 drawn")
	b.is(points("p3"), "300 runs, 10 drawn")
	// The list has 300 rows, but only the rows near its visible part exist.
	const item = `document.querySelector('[data-key="panel:p1"] .bars li')`
	b.is(item+`.getAttribute('aria-setsize') + ' ' + `+item+`.querySelector('a').textContent`, "300 run 298")
	b.is(`document.querySelectorAll('[data-key="panel:p1"] .bars li').length < 60`, "true")
	b.is(item+`.querySelector('.amount').classList.contains('other')`, "true")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-key="panel:p1"] .bars').scrollTop = 1e6`))
	b.is(`[...document.querySelectorAll('[data-key="panel:p1"] .bars li')].at(-1).getAttribute('aria-posinset')`, "300")
	drawn := `document.querySelector('[data-key="panel:p1"] .bars [data-of="` + ids[0] + `"]')`
	b.is(drawn+`?.classList.contains('drawn') && /c\d/.test(`+drawn+`.querySelector('.amount').className)`, "true")
	b.is(`document.querySelectorAll('[data-key="panel:p2"] circle.spot').length`, "10") // all others are on the canvas
	b.is(`[...document.querySelector('[data-key="panel:p2"] canvas').getContext('2d').getImageData(0, 0, 400, 300).data].some((v) => v > 0)`, "true")
	b.is(`document.querySelectorAll('[data-key="panel:p3"] .rug').length`, "10")
	b.is(`document.querySelector('[data-key="panel:p3"] svg').getAttribute('aria-label')`, "Number of runs by kind, 300 runs: a: 150, b: 150")
	b.filter(t, "param.lr <= 1")
	b.is(points("p2"), "95 of 100 runs, 10 drawn")
	b.is(points("p3"), "100 runs, 10 drawn")
	b.do(chromedp.Navigate(s.url + page + "&group=param.kind"))
	b.is(points("p3"), "300 runs, 0 drawn")
	b.is(`document.querySelector('[data-key="panel:p3"] [data-testid="beyond"]').textContent.trim()`, "Runs are not coloured by group.")
	b.fits()
	b.quiet()
}

// TestPanelsInReports adds panels without curves to a report, live and frozen, and saves them for
// print.
func TestPanelsInReports(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, _ := s.valueRuns(60)
	page := s.viewOfPanels(experiment, valuePanels...)
	e := must(s.db.Projects.Experiment(t.Context(), domain.System, experiment))(t)
	id := s.report(e.ProjectID, "Findings", "# Found\n")
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 1000), chromedp.Navigate(s.url+page+"&sort=name&top=5&filter=param.lr+%3C+0.505"))
	want := "# Found\n"
	for i, block := range []string{
		"```bar\nexperiment: " + experiment + "\nx: metric.loss\nfilter: param.lr < 0.505\nsort: name\nruns: 5\n```\n",
		"```scatter\nexperiment: " + experiment + "\nx: param.lr\ny: metric.loss.max\nfilter: param.lr < 0.505\nsort: name\nruns: 5\n```\n",
		"```histogram\nexperiment: " + experiment + "\nx: param.kind\nfilter: param.lr < 0.505\nsort: name\nruns: 5\n```\n",
	} {
		figure := fmt.Sprintf(`[data-key="panel:p%d"]`, i+1)
		b.is(`document.querySelector('`+figure+`')?.dataset.drawn`, "5")
		for _, button := range []string{"Add to Findings", "Add to Findings, frozen"} {
			b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('` + figure + ` [aria-label^="Report: "]').click()`))
			b.is(`document.querySelector('[aria-label="`+button+`"]')?.checkVisibility()`, "true")
			b.press(`[aria-label="` + button + `"]`)
			b.is(`document.querySelector('[data-testid="to-report"]') !== null`, "true")
			b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-testid="reports"]').close()`))
		}
		want += "\n" + block
		text := must(s.db.Projects.Report(t.Context(), domain.System, id))(t).Text
		rest, ok := strings.CutPrefix(text, want)
		if !ok || !strings.HasPrefix(rest, "\n```image\nsvg: ") {
			t.Fatalf("the report has %q, want %q", text, want)
		}
		want = text
		for _, format := range []string{"SVG", "PDF", "PNG"} {
			b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('` + figure + ` [aria-label^="Save as: "]').click()`))
			b.is(`Boolean(document.querySelector('[data-testid="figure-save"]')?.open)`, "true")
			file := b.saved(`[...document.querySelectorAll('[data-testid="figure-save"] button')].find((e) => e.textContent === '` + format + `')`)
			b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-testid="figure-save"]').close()`))
			switch format {
			case "SVG":
				if !bytes.Contains(file, []byte(`width="85mm"`)) || !bytes.Contains(file, []byte(">run 004<")) {
					t.Errorf("panel %d: %.300s", i+1, file)
				}
			case "PDF":
				if content, err := readPDF(file); err != nil || !strings.Contains(content, fmt.Sprintf("<%x> Tj", "run 004")) {
					t.Errorf("panel %d: %v", i+1, err)
				}
			default:
				if c, err := png.DecodeConfig(bytes.NewReader(file)); err != nil || c.Width != 2008 {
					t.Errorf("panel %d: %v, %v", i+1, c, err)
				}
			}
		}
	}
	b.do(chromedp.Navigate(s.url + "/report/" + id))
	b.is(`document.querySelectorAll('[data-testid="block"]').length`, "6")
	b.is(`[...document.querySelectorAll('[data-testid="block-note"]')].map((e) => e.textContent).join(' | ')`,
		"48 of 50 runs; the others have no finite value; 5 in colour. | 48 of 50 runs; the others have no finite value; 5 in colour. | 50 runs; 5 in colour.")
	b.is(`[...document.querySelectorAll('.report-plot')].map((e) => e.querySelectorAll('.dots:not(.others), .bars:not(.others), .line').length).join()`, "5,5,5")
	b.is(`[...document.querySelectorAll('.report-block img')].every((e) => e.naturalWidth > 300)`, "true")
	b.is(`document.querySelector('[data-testid="block-wrong"]')`, "null")
	b.fits()
	b.quiet()
}

// TestDifferenceInReport adds the difference of two runs and of two groups to a report in two
// clicks, live and frozen. A frozen one keeps its text when a run is deleted.
func TestDifferenceInReport(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, ids := s.seeds()
	id := s.report(s.projectOf(experiment), "Findings", "# Found\n")
	text := func() string { return must(s.db.Projects.Report(t.Context(), domain.System, id))(t).Text }
	b := s.openBrowser(t)
	add := func(path, button string) {
		t.Helper()
		b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(s.url+path))
		b.is(`document.querySelector('[aria-label="Report: difference"]')?.checkVisibility()`, "true")
		b.press(`[aria-label="Report: difference"]`)
		b.is(`document.querySelector('[aria-label="`+button+`"]')?.checkVisibility()`, "true")
		b.press(`[aria-label="` + button + `"]`)
		b.is(`document.querySelector('[data-testid="to-report"]') !== null`, "true")
	}
	add(pair(ids[0], ids[5]), "Add to Findings")
	want := "# Found\n\n```difference\nexperiment: " + experiment + "\na: " + ids[0] + "\nb: " + ids[5] + "\n```\n"
	if text() != want {
		t.Errorf("the report has %q, want %q", text(), want)
	}
	groups := "/compare?i=" + strings.Join([]string{ids[5], ids[0], ids[1], ids[6]}, "&i=")
	add(groups, "Add to Findings, frozen")
	frozen, ok := strings.CutPrefix(text(), want)
	if !ok || strings.Contains(frozen, "```") {
		t.Fatalf("the report has %q", text())
	}
	for _, part := range []string{"**lr × 0.3, 1 package older, 2 lines in train.py\\: val/loss +0.2 on average, worse by more than seeds explain",
		`| Differs | Kind | Difference | cosine 0 and 1 more (baseline) | plain 0 and 1 more |`, "| lr | Parameter | × 0.3 | 0.033 | 0.01 |",
		"| torch | Package | older | 2.10.0 | 2.9.0 |", "| src/train.py | Code | +"} {
		if !strings.Contains(frozen, part) {
			t.Errorf("the frozen difference %q has no %q", frozen, part)
		}
	}
	b.do(chromedp.Navigate(s.url + "/report/" + id))
	b.is(`document.querySelector('[data-testid="block-lead"]').textContent`, better)
	b.is(`[...document.querySelectorAll('.report-block tbody tr')].map((e) => [...e.children].slice(0, 3).map((c) => c.textContent.trim()).join(': ')).join(' | ')`,
		"val/loss min: Result: −0.2 (95 % interval −0.22 to −0.18) | lr: Parameter: × 3.3 | torch: Package: newer | src/train.py: Code: +2 −1 line")
	b.is(`document.querySelector('.prose strong').textContent.startsWith('lr × 0.3')`, "true")
	b.fits()
	// Deleted runs.
	if err := s.db.Runs.DeleteIteration(t.Context(), s.actor("alice"), ids[5]); err != nil {
		t.Fatal(err)
	}
	a := s.get("/report/" + id)
	a.wants(t, 200, "The runs on one side of the difference were deleted.", "lr × 0.3")
	a.lacks(t, "block-lead")
	b.quiet()
}
