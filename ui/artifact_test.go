package ui_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/users"
)

// keep creates an artifact as alice and returns its id.
func (s *site) keep(experiment string, n files.NewArtifact, content string) string {
	s.t.Helper()
	data, err := s.db.Files.Receive(s.t.Context(), strings.NewReader(content), "")
	if err != nil {
		s.t.Fatal(err)
	}
	defer data.Discard()
	made, err := s.db.Files.CreateArtifact(s.t.Context(), s.actor("alice"), experiment, n, data)
	if err != nil {
		s.t.Fatal(err)
	}
	return made.ID
}

// register creates a version of the model classifier. The version has the given artifact, or none
// if the id is "".
func (s *site) register(project, run, artifact string) (model, version string) {
	s.t.Helper()
	ctx, actor := s.t.Context(), s.actor("alice")
	name := "classifier"
	list, err := s.db.Models.Models(ctx, actor, project, registry.ModelQuery{Page: domain.FirstPage, Name: &name})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(list.Data) > 0 {
		model = list.Data[0].ID
	} else {
		made, err := s.db.Models.CreateModel(ctx, actor, project, registry.NewModel{Name: name, Description: "Tells digits apart"})
		if err != nil {
			s.t.Fatal(err)
		}
		model = made.ID
	}
	n := registry.NewModelVersion{IterationID: run}
	if artifact != "" {
		n.ArtifactID = &artifact
	}
	made, err := s.db.Models.CreateModelVersion(ctx, actor, model, n)
	if err != nil {
		s.t.Fatal(err)
	}
	return model, made.ID
}

// shelf is a run with an artifact of each kind, and a model with three versions.
type shelf struct {
	sweep
	run       string
	artifacts map[string]string // ids by name
	model     string
	versions  []string
}

// bad is markup that every page must escape.
const bad = `<script>window.ran='bad'</script>"'><img src=x onerror=window.ran='bad'>`

func (s *site) shelf() shelf {
	s.t.Helper()
	h := shelf{sweep: s.sweep(1, 2), artifacts: map[string]string{}}
	h.run = h.runs[0]
	add := func(name, contentType, content string) {
		h.artifacts[name] = s.keep(h.experiment, files.NewArtifact{Name: name, ContentType: contentType, IterationID: h.run}, content)
	}
	for i, step := range []int{200, 1, 50} {
		add(fmt.Sprintf("sample_%04d.png", step), "image/png", picture(uint8(40*i)))
	}
	add("model.pt", "", "weights\x00\x01")
	add("weights_3.histogram.json", "application/json", `{"edges": [-1, 0, 1, 2], "counts": [1, 4, 2], "not_finite": 3}`)
	add("table.csv", "text/csv; charset=utf-8", "id,name\n"+strings.Repeat("1,"+bad+"\n", 300))
	add("config.json", "application/json", `{"net": {"layers": [64, 10]}, "lr": 0.10, "name": "<b>x</b>", "on": true}`)
	add("report.md", "text/markdown", "# Report\n\n**done**\n\n"+bad+"\n")
	add("output.log", "text/plain; charset=utf-8", strings.Repeat("a line of the log\n", 20_000)+"the end\n")
	add("logo.svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><script>window.ran='bad'</script><rect width="40" height="20"/></svg>`)
	add("evil.html", "text/html", `<!doctype html><script>window.ran='bad'; parent.ran='bad'</script>`)
	add("sound.wav", "audio/wav", silence(60))
	add("film.webm", "video/webm", "\x1a\x45\xdf\xa3")
	for range 3 {
		model, version := s.register(h.project, h.run, h.artifacts["model.pt"])
		h.model, h.versions = model, append(h.versions, version)
	}
	s.stage(h.versions[1], registry.Production)
	return h
}

func (s *site) stage(version string, to registry.Stage) {
	s.t.Helper()
	if err := s.db.Models.UpdateModelVersion(s.t.Context(), s.actor("alice"), version, registry.ModelVersionPatch{Stage: &to}); err != nil {
		s.t.Fatal(err)
	}
}

// picture is a PNG of one colour.
func picture(shade uint8) string {
	m := image.NewGray(image.Rect(0, 0, 32, 24))
	for i := range m.Pix {
		m.Pix[i] = color.Gray{Y: shade}.Y
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.String()
}

// silence returns a WAV file with the given duration in seconds: one channel of 8,000 bytes a
// second.
func silence(seconds int) string {
	const rate = 8000
	data := bytes.Repeat([]byte{128}, rate*seconds)
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, uint32(36+len(data)))
	b = append(b, "WAVEfmt "...)
	for _, v := range []any{uint32(16), uint16(1), uint16(1), uint32(rate), uint32(rate), uint16(1), uint16(8)} {
		b, _ = binary.Append(b, binary.LittleEndian, v) // can't fail for integers
	}
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	return string(append(b, data...))
}

func TestArtifactList(t *testing.T) {
	s := start(t, setup{base: "/lab"})
	h := s.shelf()
	page := "/lab/experiment/" + h.experiment + "/artifacts"
	a := s.get(page)
	a.wants(t, 200, `<bdi class="name">sample_0001.png</bdi>`, "<bdi>image/png</bdi>", `title="SHA-256: `, "run 1", `data-most="0"`)
	s.get(page+"?q=sample").wants(t, 200, "sample_0050.png")
	s.get(page+"?q=sample").lacks(t, "model.pt")
	s.get(page+"?q=zebra").wants(t, 200, `data-testid="nothing"`)
	s.get(page+"?limit=2").wants(t, 200, "1–2 of 13")
	s.get(page+"?limit=2&offset=20").wants(t, 200, "This page is past the end of the list.")
	idle := s.run(h.experiment, runs.NewIteration{})
	s.get(page+"?iteration="+idle).wants(t, 200, "This run has no artifacts.", `href="`+page+`"`)
	s.get(page+"?iteration="+h.run+"&q=sample").wants(t, 200, "sample_0050.png", `hx-get="`+page+"?iteration="+h.run+"&amp;q=sample")
	s.get("/lab/iteration/"+h.run).wants(t, 200, "table.csv", "logged media files", "classifier</bdi>, version 2", `name="iteration_id" value="`+h.run)
	s.get("/lab/experiment/none/artifacts").wants(t, 404)

	// Empty pages show example commands that create records.
	w := s.sweep(1, 0)
	s.get("/lab/experiment/"+w.experiment+"/artifacts").wants(t, 200, `data-testid="lesson"`, "/resource/experiment/"+w.experiment,
		"-F data=@model.bin", "tracker.init(&#34;digits&#34;, &#34;sweep&#34;, url=&#34;http://127.0.0.1:9000/lab&#34;)")
	s.get("/lab/iteration/"+w.runs[0]).wants(t, 200, "-F iteration_id="+w.runs[0], "resume=&#34;"+w.runs[0]+"&#34;")
	stopped := domain.Finished
	if err := s.db.Projects.UpdateExperiment(t.Context(), s.actor("alice"), h.experiment, projects.ExperimentPatch{Status: &stopped}); err != nil {
		t.Fatal(err)
	}
	a = s.get(page)
	a.wants(t, 200, "the experiment has ended")
	a.lacks(t, `type="file"`)
}

func TestArtifactData(t *testing.T) {
	s := start(t, setup{auth: true})
	h := s.shelf()
	alice := with(s.signIn("alice"))
	for name, want := range map[string]struct {
		contentType string
		inline      bool
	}{
		"sample_0001.png": {"image/png", true},
		"logo.svg":        {"image/svg+xml", false},
		"evil.html":       {"application/octet-stream", false},
		"model.pt":        {"application/octet-stream", false},
		"table.csv":       {"text/plain; charset=utf-8", true},
		"config.json":     {"text/plain; charset=utf-8", true},
		"report.md":       {"text/plain; charset=utf-8", true},
		"output.log":      {"text/plain; charset=utf-8", true},
		"sound.wav":       {"audio/wav", true},
		"film.webm":       {"video/webm", true},
	} {
		path := "/artifact/" + h.artifacts[name] + "/data"
		a := s.get(path, alice)
		a.wants(t, 200)
		for header, want := range map[string]string{
			"Content-Type": want.contentType, "Content-Security-Policy": "sandbox; default-src 'none'",
			"X-Content-Type-Options": "nosniff", "Accept-Ranges": "bytes",
		} {
			if got := a.Header.Get(header); got != want {
				t.Errorf("%s has the %s %q, not %q", name, header, got, want)
			}
		}
		if inline := a.Header.Get("Content-Disposition") == ""; inline != want.inline {
			t.Errorf("%s has the Content-Disposition %q", name, a.Header.Get("Content-Disposition"))
		}
		a = s.get(path+"?download", alice)
		if got := a.Header.Get("Content-Disposition"); got != `attachment; filename="`+name+`"` {
			t.Errorf("%s is downloaded as %q", name, got)
		}
	}
	// An artifact whose content type could run scripts is served as a download, whatever its name.
	for _, contentType := range []string{"application/pdf", "application/xhtml+xml", "text/xml", "image/svg+xml; charset=utf-8", "text/javascript",
		"application/x-shockwave-flash", "multipart/x-mixed-replace; boundary=x"} {
		id := s.keep(h.experiment, files.NewArtifact{Name: "a.png", ContentType: contentType}, "x")
		a := s.get("/artifact/"+id+"/data", alice)
		a.wants(t, 200)
		if got := a.Header.Get("Content-Disposition"); got == "" {
			t.Errorf("%s is shown as %s", contentType, a.Header.Get("Content-Type"))
		}
	}

	log := "/artifact/" + h.artifacts["output.log"] + "/data"
	a := s.get(log, alice, header("Range", "bytes=2-5"))
	if a.StatusCode != http.StatusPartialContent || a.body != "line" || a.Header.Get("Content-Range") != "bytes 2-5/360008" {
		t.Errorf("a range is %s %q %s", a.Status, a.body, a.Header.Get("Content-Range"))
	}
	s.get(log, alice, header("Range", "bytes=400000-")).wants(t, 416, "is outside of the artifact")
	etag := s.get(log, alice).Header.Get("ETag")
	if a := s.get(log, alice, header("If-None-Match", etag)); a.StatusCode != http.StatusNotModified {
		t.Errorf("with its ETag: %s", a.Status)
	}
	s.get(log, with(s.signIn("bob"))).wants(t, 403)
	s.get("/artifact/none/data", alice).wants(t, 404)
	s.get(log).redirects(t, "/login?next="+url.QueryEscape(log))
}

func TestDeleteArtifact(t *testing.T) {
	s := start(t, setup{base: "/lab"})
	h := s.shelf()
	list := "/lab/experiment/" + h.experiment + "/artifacts"
	used, free := "/lab/artifact/"+h.artifacts["model.pt"], "/lab/artifact/"+h.artifacts["report.md"]
	s.post(used+"/delete", nil).wants(t, 409, `data-testid="wrong-delete"`, "model classifier, versions 1, 2 and 3")
	part := "div#artifact-" + h.artifacts["model.pt"]
	a := s.post(used+"/delete", nil, header("HX-Request", "true"), header("HX-Target", part), header("HX-Current-URL", s.url+list))
	a.wants(t, 409, `data-testid="wrong-delete"`)
	a.lacks(t, "<html", `id="crumbs"`)

	a = s.post("/lab/artifact/"+h.artifacts["table.csv"]+"/delete", nil, header("HX-Request", "true"), header("HX-Current-URL", s.url+list))
	if a.StatusCode != 200 || a.body != "" || a.Header.Get("HX-Trigger") != "artifacts" {
		t.Errorf("in a list: %s %q %v", a.Status, a.body, a.Header)
	}
	s.post(free+"/delete", nil).deletes(t, list, strings.TrimPrefix(free, "/lab/artifact/"))
	s.get(free).wants(t, 404)
	s.get(list).lacks(t, "report.md", "table.csv")
	s.post(free+"/delete", nil).wants(t, 404)
	s.post(used+"/delete", nil, header("Sec-Fetch-Site", "cross-site")).wants(t, 403)
}

func TestRegister(t *testing.T) {
	s := start(t, setup{})
	h := s.shelf()
	page := "/artifact/" + h.artifacts["sample_0001.png"]
	versions := page + "/versions"
	s.get(page).wants(t, 200, `data-testid="register"`, ">classifier</option>")
	s.post(versions, url.Values{"model_id": {h.model}, "description": {"for the paper"}}).redirects(t, page)
	s.get(page).wants(t, 200, "classifier</bdi>, version 4")
	s.get("/model/"+h.model).wants(t, 200, "for the paper", "sample_0001.png")
	s.post(versions, url.Values{"model_id": {""}, "name": {bad}}).redirects(t, page)
	a := s.get(page)
	a.wants(t, 200, "&lt;script&gt;")
	a.lacks(t, "<script>window", "<img src=x")

	// No input is lost.
	s.post(versions, url.Values{"model_id": {""}, "name": {"classifier"}, "description": {"long thoughts"}}).
		wants(t, 409, "The project already has a model with this name", "long thoughts", `aria-invalid="true"`)
	s.post(versions, url.Values{"model_id": {""}}).wants(t, 422, "name must not be empty")
	s.post(versions, url.Values{"model_id": {"none"}}).wants(t, 404)

	loose := "/artifact/" + s.keep(h.experiment, files.NewArtifact{Name: "loose.bin"}, "x")
	s.get(loose).wants(t, 200, "Source run", "run 1 (running)")
	s.post(loose+"/versions", url.Values{"model_id": {h.model}, "description": {"thoughts"}}).wants(t, 422, "Choose the source run", "thoughts")
	s.post(loose+"/versions", url.Values{"model_id": {h.model}, "iteration_id": {h.run}}).redirects(t, loose)
}

// All URLs of a page are below the base path.
func TestRecordLinks(t *testing.T) {
	s := start(t, setup{base: "/lab/one"})
	h := s.shelf()
	addresses := regexp.MustCompile(`(?:href|src|action|hx-get|hx-post)="([^"]*)"`)
	pages := []string{"/project/" + h.project, "/project/" + h.project + "/models", "/project/" + h.project + "/settings", "/project/" + h.project + "/members",
		"/experiment/" + h.experiment + "/artifacts", "/experiment/" + h.experiment + "/settings", "/iteration/" + h.run, "/model/" + h.model}
	for _, id := range h.artifacts {
		pages = append(pages, "/artifact/"+id)
	}
	for _, page := range pages {
		a := s.get("/lab/one" + page)
		a.wants(t, 200)
		a.lacks(t, "<style", " style=", " onclick=", " onload=", "<script>", "hx-on", "js:")
		for _, m := range addresses.FindAllStringSubmatch(a.body, -1) {
			if !strings.HasPrefix(m[1], "#") && m[1] != "/lab/one" && !strings.HasPrefix(m[1], "/lab/one/") {
				t.Errorf("%s asks for %s", page, m[1])
			}
		}
	}
}

func TestArtifactRights(t *testing.T) {
	s := start(t, setup{auth: true})
	h := s.shelf()
	if _, err := s.db.Users.CreateUserPermission(t.Context(), domain.System, s.actor("bob").UserID, h.project, users.PermissionPatch{}); err != nil {
		t.Fatal(err)
	}
	bob := with(s.signIn("bob"))
	a := s.get("/experiment/"+h.experiment+"/artifacts", bob)
	a.wants(t, 200, "model.pt")
	a.lacks(t, `type="file"`)
	a = s.get("/artifact/"+h.artifacts["model.pt"], bob)
	a.wants(t, 200, "Download")
	a.lacks(t, `data-testid="register"`, `data-testid="delete-artifact"`)
	for _, path := range []string{"/versions", "/delete"} {
		s.post("/artifact/"+h.artifacts["report.md"]+path, url.Values{"model_id": {h.model}}, bob).wants(t, 403)
	}
}

// TestImageSeries checks that if a list of images was logged at several steps, each place in the
// list is a series.
func TestImageSeries(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 1)
	ids := map[string]string{}
	for _, step := range []int{300, 100, 200} {
		for place := range 2 {
			name := fmt.Sprintf("grid_%d_%d.png", step, place)
			ids[name] = s.keep(w.experiment, files.NewArtifact{Name: name, ContentType: "image/png", IterationID: w.runs[0]}, picture(uint8(step+place)))
		}
	}
	a := s.get("/artifact/" + ids["grid_200_1.png"])
	a.wants(t, 200, `aria-valuetext="step 200"`, `rel="prev" href="/artifact/`+ids["grid_100_1.png"], `rel="next" href="/artifact/`+ids["grid_300_1.png"],
		`<span class="place">2</span> of 3`)
	a.lacks(t, "_0.png")

	// One step with two images.
	for place := range 2 {
		name := fmt.Sprintf("mask_7_%d.png", place)
		ids[name] = s.keep(w.experiment, files.NewArtifact{Name: name, ContentType: "image/png", IterationID: w.runs[0]}, picture(uint8(place)))
	}
	s.get("/artifact/"+ids["mask_7_0.png"]).wants(t, 200, `<span class="place">1</span> of 2`, ids["mask_7_1.png"])
}

// TestRunFiles checks that the page of a run lists models first and folds logged media, and that a
// folder can be registered.
func TestRunFiles(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := s.sweep(2, 1)
	ids := map[string]string{}
	add := func(name, text string) {
		t.Helper()
		ids[name] = s.keep(w.experiment, files.NewArtifact{Name: name, IterationID: w.runs[0]}, text)
	}
	for step := range 30 {
		add(fmt.Sprintf("samples_%d.png", step), picture(uint8(step)))
	}
	add("media/images/mask/seen_3_0123456789abcdef0123.mask.png", picture(3))
	add("images/seen%step%1%timestamp%1%0-a%compressed.webp", "copy")
	for _, name := range []string{"MLmodel", "conda.yaml", "data/model.pth"} {
		add("model/"+name, name)
	}
	add("best.pt", "best")
	add("copy/best.pt", "best")
	s.logVersion(w.runs[0], "net", "model", "copy")
	add("notes.md", "# Notes")
	add("confusion.png", picture(9))
	s.keep(w.experiment, files.NewArtifact{Name: "samples_1.png", IterationID: w.runs[1]}, picture(1))

	page := s.get("/iteration/" + w.runs[0])
	page.wants(t, 200, "32 logged media files", "notes.md", "confusion.png", "net:v0", "All 40 artifacts", ">model/<", "artifact/"+ids["best.pt"]+"?register",
		"artifact/"+ids["model/MLmodel"]+"?register", "artifact/"+ids["copy/best.pt"]+"?register")
	page.lacks(t, "samples_3.png", "conda.yaml", "model.pth", "net:v0/best.pt", "%compressed")
	media := "/experiment/" + w.experiment + "/artifacts?iteration=" + w.runs[0] + "&media=1"
	list := s.get(media)
	list.wants(t, 200, "samples_3.png", "%compressed", "media/images/mask")
	list.lacks(t, "notes.md", "best.pt")
	s.get(media+"&q=SEEN").wants(t, 200, "%compressed", "images/mask")
	s.get(media+"&offset=40").wants(t, 200, "past the end")

	s.get("/artifact/"+ids["model/MLmodel"]+"?register").wants(t, 200, `value="1" selected`, "The folder model/")
	s.get("/artifact/"+ids["notes.md"]+"?register").lacks(t, "Only this file")
	s.post("/artifact/"+ids["model/MLmodel"]+"/versions", url.Values{"name": {"digits"}, "folder": {"1"}})
	model := must(s.db.Models.Models(t.Context(), s.actor("alice"), w.project, registry.ModelQuery{Page: domain.FirstPage}))(t).Data[0]
	source := "runs:/" + strings.ReplaceAll(w.runs[0], "-", "") + "/model"
	version := must(s.db.Models.ModelVersions(t.Context(), s.actor("alice"), model.ID, registry.ModelVersionQuery{Page: domain.FirstPage}))(t).Data[0]
	if version.Source != source || version.ArtifactID == nil || *version.IterationID != w.runs[0] {
		t.Errorf("the version is %+v, want the source %s", version, source)
	}
	s.get("/model/"+model.ID).wants(t, 200, source, "artifacts?iteration="+w.runs[0]+"&amp;q=model%2F")
}

// TestWeightsAreNoPageTable checks that the media type that Debian assigns to .pt is treated as
// unknown.
func TestWeightsAreNoPageTable(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(1, 1)
	id := s.keep(w.experiment, files.NewArtifact{Name: "model.pt", ContentType: "application/vnd.snesdev-page-table", IterationID: w.runs[0]}, "weights")
	a := s.get("/artifact/" + id)
	a.wants(t, 200, "application/octet-stream")
	a.lacks(t, "snesdev")
}
