package ui_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tracker/store/files"
)

func (s *site) media(body string) answer {
	return s.do("POST", "/data/media", strings.NewReader(body), header("Content-Type", "application/json"))
}

// mediaKeys holds the response with the names under which media were logged.
type mediaKeys struct {
	Keys []struct {
		Key, Kind string
		Count     int
		Steps     []int64
	}
	More bool
}

// Names, steps and list places are read from the file names of the clients.
func TestMediaNames(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(2, 0)
	add := func(run, name string) {
		s.keep(w.experiment, files.NewArtifact{Name: name, IterationID: run}, "x")
	}
	for _, step := range []int{100, 200} {
		for place := range 3 {
			add(w.runs[0], fmt.Sprintf("val/samples_%d_%d.png", step, place)) // a list
		}
		add(w.runs[0], fmt.Sprintf("layer_3_%d.png", step)) // not a list: the name ends in a number
		add(w.runs[1], fmt.Sprintf("val/samples_%d.png", step))
		add(w.runs[0], fmt.Sprintf("w_%d.histogram.json", step))
		add(w.runs[0], fmt.Sprintf("media/images/wandb_%d_0123456789abcdef0123.png", step))
		add(w.runs[0], fmt.Sprintf("images/val#mlflow%%step%%%d%%timestamp%%1700000000000%%2f1b-4c.png", step))
		add(w.runs[0], fmt.Sprintf("images/val#mlflow%%step%%%d%%timestamp%%1700000000000%%2f1b-4c%%compressed.webp", step))
	}
	for _, name := range []string{"confusion.png", "model.pt", "notes.txt", "said_7.txt", "data:v0/a_1.png", "media/table/t_5_0123456789abcdef0123.table.json", "big_123456789012345678901234.png"} {
		add(w.runs[0], name)
	}
	s.keep(w.experiment, files.NewArtifact{Name: "nobodys_1.png"}, "x")
	var found mediaKeys
	s.media(fmt.Sprintf(`{"iterations":["%s","%s"]}`, w.runs[0], w.runs[1])).json(t, 200, &found)
	var got []string
	for _, k := range found.Keys {
		got = append(got, fmt.Sprintf("%s %s %d %v", k.Kind, k.Key, k.Count, k.Steps))
	}
	want := []string{"image big_123456789012345678901234 1 []", "image confusion 1 []", "image layer_3 2 [100 200]", "text said 1 [7]", "table t 1 [5]",
		"image val/mlflow 2 [100 200]", "image val/samples 8 [100 200]", "histogram w 2 [100 200]", "image wandb 2 [100 200]"}
	if !slices.Equal(got, want) || found.More {
		t.Errorf("the names are\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var under struct {
		Media []struct {
			Run, Name string
			Step      int64
			Place     int
		}
	}
	s.media(fmt.Sprintf(`{"iterations":["%s"],"key":"val/samples","kind":"image"}`, w.runs[0])).json(t, 200, &under)
	if len(under.Media) != 6 || under.Media[5].Step != 200 || under.Media[5].Place != 2 || under.Media[5].Name != "val/samples_200_2.png" || under.Media[5].Run != w.runs[0] {
		t.Errorf("the images are %+v", under.Media)
	}
	s.media(`{"iterations":["none"]}`).json(t, 200, &found)
	if len(found.Keys) != 0 {
		t.Errorf("a run that does not exist has %v", found.Keys)
	}
	s.media(`{"iterations":["`+strings.Repeat(`a","`, 60)+`"]}`).wants(t, 422, "up to 50 runs")
	s.media(`x`).wants(t, 400)
}

// Histograms of all steps have the same bins.
func TestHistogramsOverSteps(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 0)
	for step, body := range map[int]string{10: `{"edges":[0,1,2],"counts":[4,4]}`, 20: `{"edges":[-2,2],"counts":[8]}`, 30: `no JSON`, 40: `{"edges":[1,1],"counts":[5]}`} {
		s.keep(w.experiment, files.NewArtifact{Name: fmt.Sprintf("w_%d.histogram.json", step), IterationID: w.runs[0]}, body)
	}
	ask := func(key string) (h struct {
		Low, High float64
		Steps     []int64
		Counts    [][]float64
		All       int
	}) {
		s.do("POST", "/data/histograms", strings.NewReader(`{"iterations":["`+w.runs[0]+`"],"key":"`+key+`"}`), header("Content-Type", "application/json")).json(t, 200, &h)
		return h
	}
	h := ask("w")
	if h.Low != -2 || h.High != 2 || !slices.Equal(h.Steps, []int64{10, 20, 40}) || h.All != 4 {
		t.Fatalf("the histograms are %+v", h)
	}
	sum := func(all []float64) (sum float64) {
		for _, n := range all {
			sum += n
		}
		return sum
	}
	if c := h.Counts[0]; len(c) != 64 || sum(c[:32]) != 0 || sum(c[32:48]) != 4 || sum(c[48:]) != 4 {
		t.Errorf("at step 10 there are %v", c)
	}
	if c := h.Counts[1]; c[0] != 0.125 || sum(c) != 8 {
		t.Errorf("at step 20 there are %v", c)
	}
	if c := h.Counts[2]; sum(c) != 5 || c[48] != 5 {
		t.Errorf("at step 40 there are %v", c)
	}
	if h := ask("none"); len(h.Steps) != 0 {
		t.Errorf("of no histograms there are %+v", h)
	}
}

// A logged HTML page has no access to this site.
func TestArtifactFrame(t *testing.T) {
	s := start(t, setup{auth: true})
	h := s.shelf()
	path := "/artifact/" + h.artifacts["evil.html"] + "/frame"
	alice := with(s.signIn("alice"))
	a := s.get(path, alice)
	a.wants(t, 200, "<!doctype html><script>")
	const policy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; " +
		"media-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
	for name, want := range map[string]string{"Content-Security-Policy": policy, "Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff"} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	for _, name := range []string{"logo.svg", "report.md", "model.pt"} {
		s.get("/artifact/"+h.artifacts[name]+"/frame", alice).wants(t, http.StatusNotFound)
	}
	s.get(path, with(s.signIn("bob"))).wants(t, http.StatusForbidden)

	// A browser that opens the page itself saves it.
	if got := s.get(path, alice, header("Sec-Fetch-Dest", "iframe")).Header; got.Get("Content-Disposition") != "" || !strings.Contains(strings.Join(got.Values("Vary"), ","), "Sec-Fetch-Dest") {
		t.Errorf("in a frame, the headers are %v", got)
	}
	for _, dest := range []string{"document", "object", "empty"} {
		got := s.get(path, alice, header("Sec-Fetch-Dest", dest)).Header
		if !strings.HasPrefix(got.Get("Content-Disposition"), "attachment") || got.Get("Content-Security-Policy") != "sandbox; default-src 'none'" {
			t.Errorf("for %s, the headers are %v", dest, got)
		}
	}
}

// gallery creates runs that have logged media at steps 10, 20 and 30. The second run ended before
// step 30.
func (s *site) gallery() sweep {
	w := s.sweep(2, 3)
	for i, run := range w.runs {
		for step := 10; step <= 30-10*i; step += 10 {
			add := func(name, contentType, content string) {
				s.keep(w.experiment, files.NewArtifact{Name: fmt.Sprintf(name, step), ContentType: contentType, IterationID: run}, content)
			}
			for place := range 2 {
				add("val/samples_%d_"+fmt.Sprint(place)+".png", "image/png", picture(uint8(100*i+step+place)))
			}
			add("weights_%d.histogram.json", "application/json", fmt.Sprintf(`{"edges": [-1, 0, %d], "counts": [%d, 9]}`, step, step))
			add("mistakes_%d.csv", "text/csv", fmt.Sprintf("photo,label\n%d.png,stop\n", step))
			add("page_%d.html", "text/html", `<!doctype html><p id="said"></p><script>document.getElementById('said').textContent = 'at `+fmt.Sprint(step)+`';
				try { parent.document.title = 'changed'; } catch { document.getElementById('said').textContent += ' alone'; }</script>`)
		}
		s.keep(w.experiment, files.NewArtifact{Name: "horn.wav", ContentType: "audio/wav", IterationID: run}, silence(1))
	}
	return w
}

// TestMediaOverSteps moves the shared slider on the pages of a run, an experiment and a comparison.
func TestMediaOverSteps(t *testing.T) {
	t.Parallel()
	s := start(t, setup{base: "/lab"})
	w := s.gallery()
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 900))
	const (
		cell   = `[data-media="val/samples"] [data-testid="media-cell"]`
		images = `[...document.querySelectorAll('` + cell + ` img')].map((i) => i.alt).join('; ')`
	)
	reach := func(selector string) { // visible elements are loaded
		b.is(`(document.querySelector('`+selector+`')?.scrollIntoView({block: 'center'}), document.querySelector('`+selector+`') !== null)`, "true")
	}

	b.do(chromedp.Navigate(s.url + "/lab/iteration/" + w.runs[0]))
	b.is(`document.querySelector('[data-testid="to-media"]').hidden`, "false")
	reach(`[data-media="val/samples"]`)
	b.is(`document.querySelectorAll('`+cell+` img').length`, "2")
	b.is(images+`.includes('step 30')`, "true")
	b.is(`document.querySelector('`+cell+` img').naturalWidth`, "32")
	b.do(chromedp.Focus(chromedp.CSS(`[data-testid="media-step"]`)), chromedp.KeyEvent(kb.ArrowLeft))
	b.is(`document.querySelector('[data-testid="media-at"]').textContent`, "Step 20")
	b.is(images+`.includes('step 20')`, "true")
	b.is(`location.search`, "?mediastep=20")
	reach(`[data-media="weights"]`)
	b.is(`document.querySelector('[data-media="weights"] canvas').getAttribute('aria-label').includes('from -1 to 30 over 3 steps')`, "true")
	b.is(`document.querySelector('[data-media="weights"] .mark').style.left`, "50%")
	b.is(`new Set(document.querySelector('[data-media="weights"] canvas').getContext('2d').getImageData(0, 0, 640, 160).data).size > 3`, "true")
	reach(`[data-media="mistakes"]`)
	b.is(`document.querySelector('[data-media="mistakes"] td')?.textContent`, "20.png")
	reach(`[data-media="page"]`)
	b.is(`document.querySelector('[data-media="page"] iframe')?.sandbox.value`, "allow-scripts")
	b.is(`document.title.includes('changed')`, "false")
	b.is(`document.querySelector('[data-media="page"] iframe').contentDocument`, "null") // the frame has its own origin
	reach(`[data-media="horn"]`)
	b.is(`document.querySelector('[data-media="horn"] audio')?.getAttribute('preload')`, "none")
	b.fits()

	// The page of the experiment has the same slider, for the drawn runs.
	b.do(chromedp.Navigate(s.url+"/lab/experiment/"+w.experiment), chromedp.Click(chromedp.CSS(`[data-testid="show-media"]`)))
	b.is(`document.querySelectorAll('`+cell+`').length`, "2")
	b.is(`document.querySelectorAll('`+cell+` img').length`, "4")
	b.is(`[...document.querySelectorAll('`+cell+`')].map((c) => c.dataset.step).sort().join(' ')`, "20 30") // one run ended earlier
	b.do(chromedp.Click(chromedp.CSS(`[name="mediaall"]`)))
	b.is(`document.querySelectorAll('[data-media="val/samples"] [data-testid="media-steps"] img').length`, "10")
	b.is(`[...document.querySelectorAll('[data-media="val/samples"] thead th')].map((e) => e.textContent).join(', ')`, "Run, Step 10, Step 20, Step 30")
	b.do(chromedp.Click(chromedp.CSS(`[data-media="val/samples"] td a`)))
	b.is(`document.querySelector('[data-testid="large"] img').naturalWidth`, "32")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.is(`document.querySelector('dialog[open]') === null`, "true")
	b.do(chromedp.Click(chromedp.CSS(`[data-testid="show-charts"]`)))
	b.is(`getComputedStyle(document.getElementById('media')).display`, "none")

	// The comparison has the same slider.
	b.do(chromedp.Navigate(s.url + "/lab/compare?i=" + w.runs[0] + "&i=" + w.runs[1] + "&mediastep=10"))
	reach(`[data-media="val/samples"]`)
	b.is(`[...document.querySelectorAll('`+cell+`')].map((c) => c.dataset.step).join(' ')`, "10 10")
	b.fits()
	b.quiet()
}

// A list of artifacts shows an image without opening it if the image is small.
func TestThumbnails(t *testing.T) {
	s := start(t, setup{base: "/lab"})
	h := s.shelf()
	large := s.keep(h.experiment, files.NewArtifact{Name: "large.png", ContentType: "image/png"}, strings.Repeat("x", 1<<20+1))
	a := s.get("/lab/experiment/" + h.experiment + "/artifacts")
	a.wants(t, 200, `src="/lab/artifact/`+h.artifacts["sample_0001.png"]+`/data" alt="" loading="lazy"`)
	a.lacks(t, large+`/data"`, h.artifacts["model.pt"]+`/data"`)
}

// A table of W&B's client is shown as a table.
func TestPreviewOfTableOfWandb(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 0)
	id := s.keep(w.experiment, files.NewArtifact{Name: "media/table/t_5_0123456789abcdef0123.table.json", ContentType: "application/json"},
		`{"columns": ["photo", 2], "data": [["<b>a</b>", 0.10], [null]]}`)
	s.get("/artifact/"+id).wants(t, 200, `data-kind="table"`, "<bdi>photo</bdi>", "&lt;b&gt;a", "<bdi>0.10</bdi>", "2 of 2 rows")
	id = s.keep(w.experiment, files.NewArtifact{Name: "other.json", ContentType: "application/json"}, `{"columns": [], "data": []}`)
	s.get("/artifact/"+id).wants(t, 200, `data-kind="json"`)
}

// The question whether a file would be accepted needs the size of the file.
func TestUploadAskedWithoutSize(t *testing.T) {
	s := start(t, setup{auth: true})
	a := s.sweep(0, 0)
	path, alice := "/data/experiment/"+a.experiment+"/artifacts", with(s.signIn("alice"))
	for _, query := range []string{"", "?size=", "?size=x", "?size=-1", "?size=99999999999999999999"} {
		s.get(path+query, alice).wants(t, http.StatusUnprocessableEntity, `"field":"size"`)
	}
	s.get(path+"?size=0", alice).wants(t, 200)
}
