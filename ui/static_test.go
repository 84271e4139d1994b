package ui_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tracker/store/files"
)

func TestStaticFiles(t *testing.T) {
	s := start(t, setup{auth: true, base: "/lab"})
	page := s.get("/lab/login")
	types := map[string]string{
		"css": "text/css; charset=utf-8",
		"js":  "text/javascript; charset=utf-8",
		"svg": "image/svg+xml",
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`/lab/static/([a-z]+)-[0-9A-Z]{8}\.([a-z]+)`).FindAllStringSubmatch(page.body, -1) {
		address, kind := m[0], m[2]
		named[m[1]+"."+kind] = true
		a := s.get(address)
		a.wants(t, 200)
		if got := a.Header.Get("Content-Type"); got != types[kind] {
			t.Errorf("%s has the type %q", address, got)
		}
		if got := a.Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s has Cache-Control %q", address, got)
		}
		etag := a.Header.Get("ETag")
		if len(etag) < 3 || !strings.HasPrefix(etag, `"`) {
			t.Errorf("%s has ETag %q", address, etag)
		}
		if again := s.get(address, header("If-None-Match", etag)); again.StatusCode != 304 || again.body != "" {
			t.Errorf("%s with its ETag answers %s", address, again.Status)
		}
		s.get(address, header("If-None-Match", `"other"`)).wants(t, 200)
		packed := s.get(address, header("Accept-Encoding", "gzip"))
		packed.wants(t, 200)
		most := len(a.body) / 2
		if len(a.body) < 3000 { // text with few repetitions
			most = len(a.body) * 2 / 3
		}
		if len(a.body) > 2000 && (packed.Header.Get("Content-Encoding") != "gzip" || len(packed.body) > most) {
			t.Errorf("%s is sent with %d of %d bytes", address, len(packed.body), len(a.body))
		}
	}
	for _, name := range []string{"page.css", "theme.js", "frame.js", "part.js", "favicon.svg"} {
		if !named[name] {
			t.Errorf("the page does not name %s, but %v", name, named)
		}
	}
	// Files that browsers do not load are not served.
	for _, name := range []string{"page.css", "theme.js", "manifest.json", "uplot.license.txt", "page-00000000.css"} {
		s.get("/lab/static/"+name).wants(t, 404)
	}
}

// TestVendored compares the third-party code with the recorded versions and hashes.
func TestVendored(t *testing.T) {
	note, err := os.ReadFile("static/vendored.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"uplot.js", "uplot.css", "htmx.js", "vega.js", "vegalite.js", "vegainterpreter.js"} {
		body, err := os.ReadFile("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("sha256 %x", sha256.Sum256(body)); !strings.Contains(string(note), sum) {
			t.Errorf("%s has the %s, which vendored.txt does not know", name, sum)
		}
	}
}

// TestWeight limits the bytes that a browser loads to show a page: the page itself, its files, and
// the modules that these import in turn.
func TestWeight(t *testing.T) {
	s := start(t, setup{})
	w := s.sweep(20, 2)
	artifact := s.keep(w.experiment, files.NewArtifact{Name: "notes.md", IterationID: w.runs[0]}, "# Notes")
	model, _ := s.register(w.project, w.runs[0], artifact)
	named := regexp.MustCompile(`/static/([a-z]+-[0-9A-Z]{8}\.[a-z]+)`)
	onDemand := regexp.MustCompile(`<meta name="[a-z]+-styles"[^>]*>`)
	imported := regexp.MustCompile(`(?:from|import)"\./([a-z]+-[0-9A-Z]{8}\.js)"`)
	for _, page := range []string{"/", "/project/" + w.project, "/experiment/" + w.experiment, "/iteration/" + w.runs[0],
		"/experiment/" + w.experiment + "/artifacts", "/artifact/" + artifact, "/project/" + w.project + "/models", "/model/" + model} {
		a := s.get(page)
		a.wants(t, 200)
		total, seen := len(a.body), map[string]bool{}
		var add func(name string)
		add = func(name string) {
			if seen[name] {
				return
			}
			seen[name] = true
			file := s.get("/static/" + name)
			file.wants(t, 200)
			total += len(file.body)
			for _, m := range imported.FindAllStringSubmatch(file.body, -1) {
				add(m[1])
			}
		}
		// Styles that a meta element names are loaded on demand, for example with a dialog.
		for _, m := range named.FindAllStringSubmatch(onDemand.ReplaceAllString(a.body, ""), -1) {
			add(m[1])
		}
		t.Logf("%s: %d bytes in %d files", page, total, len(seen))
		if total > 200<<10 {
			t.Errorf("%s loads %d bytes", page, total)
		}
	}
}

// TestContrast checks the colours by the formulas of WCAG 2.2 (relative
// luminance and contrast ratio): 4.5 for text, 3 for the edges of controls.
func TestContrast(t *testing.T) {
	css, err := os.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	token := regexp.MustCompile(`--([a-z0-9-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)`)
	pairs := token.FindAllStringSubmatch(string(css), -1)
	themes := [2]map[string]float64{{}, {}}
	for _, p := range pairs {
		themes[0][p[1]], themes[1][p[1]] = luminance(t, p[2]), luminance(t, p[3])
	}
	for i, theme := range themes {
		for _, c := range []struct {
			on, ground string
			least      float64
		}{
			{"text", "ground", 4.5}, {"text", "raised", 4.5},
			{"muted", "ground", 4.5}, {"muted", "raised", 4.5},
			{"accent", "ground", 4.5}, {"danger", "ground", 4.5},
			{"on-button", "button", 4.5},
			{"good", "ground", 4.5}, {"good", "raised", 4.5}, {"danger", "raised", 4.5},
			{"edge", "ground", 3}, {"accent", "raised", 3}, {"button", "ground", 3},
		} {
			a, okA := theme[c.on]
			b, okB := theme[c.ground]
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); !okA || !okB || ratio < c.least {
				t.Errorf("theme %d: %s on %s has a contrast of %.2f, not %.1f", i, c.on, c.ground, ratio, c.least)
			}
		}
		for n := range 12 {
			name := fmt.Sprintf("run-%d", n)
			a, ok := theme[name]
			if ratio := (max(a, theme["ground"]) + 0.05) / (min(a, theme["ground"]) + 0.05); !ok || ratio < 3 {
				t.Errorf("theme %d: the curve %s has a contrast of %.2f", i, name, ratio)
			}
		}
	}
}

// TestCurveColours measures the distances between colours of curves in OKLab, for normal sight and
// for sight without one kind of cones. The runs of an experiment have consecutive numbers, so
// consecutive colours must differ more than colours that are used together only if many runs are
// drawn.
func TestCurveColours(t *testing.T) {
	css, err := os.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	pairs := regexp.MustCompile(`--run-[0-9]+: light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)`).FindAllStringSubmatch(string(css), -1)
	n := len(pairs)
	if n != 12 {
		t.Fatalf("there are %d colours", n)
	}
	for theme := range 2 {
		for _, sight := range sights {
			for i := range n {
				for j := range i {
					apart := min(i-j, n-i+j)
					least := sight.near
					switch {
					case apart > 5:
						least = sight.far
					case apart > 1:
						least = sight.close
					}
					a := oklab(sight.cones.times(linear(t, pairs[i][1+theme])))
					b := oklab(sight.cones.times(linear(t, pairs[j][1+theme])))
					if d := math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2]); d < least {
						t.Errorf("theme %d, %s: the curves %d and %d are %.3f apart, not %.3f", theme, sight.name, j, i, d, least)
					}
				}
			}
		}
	}
}

type matrix [3][3]float64

// times multiplies c by the matrix, and limits the result to displayable colours.
func (m matrix) times(c [3]float64) (out [3]float64) {
	for i, row := range m {
		for j, weight := range row {
			out[i] += weight * c[j]
		}
		out[i] = min(max(out[i], 0), 1)
	}
	return out
}

// sights holds the kinds of colour vision for which curves must be distinguishable. The matrices,
// for linear RGB, are from Machado, Oliveira and Fernandes (2009) for a severity of 1. near is the
// minimum distance between neighbouring colours, close between any two of six successive colours,
// and far between any two colours. A just noticeable difference is about 0.02.
var sights = []struct {
	name             string
	cones            matrix
	near, close, far float64
}{
	{"normal", matrix{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 0.145, 0.12, 0.1},
	{"protanopia", matrix{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}, 0.09, 0.065, 0.05},
	{"deuteranopia", matrix{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}, 0.09, 0.065, 0.05},
	{"tritanopia", matrix{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}, 0.09, 0.065, 0.05},
}

// oklab converts linear RGB to Ottosson's OKLab.
func oklab(c [3]float64) [3]float64 {
	l := math.Cbrt(0.4122214708*c[0] + 0.5363325363*c[1] + 0.0514459929*c[2])
	m := math.Cbrt(0.2119034982*c[0] + 0.6806995451*c[1] + 0.1073969566*c[2])
	s := math.Cbrt(0.0883024619*c[0] + 0.2817188376*c[1] + 0.6299787005*c[2])
	return [3]float64{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	c := linear(t, hex)
	return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2]
}

// linear converts a component in sRGB to linear RGB.
func linear(t *testing.T, hex string) (out [3]float64) {
	t.Helper()
	for i := range out {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = float64(n) / 255
		if out[i] <= 0.04045 {
			out[i] /= 12.92
		} else {
			out[i] = math.Pow((out[i]+0.055)/1.055, 2.4)
		}
	}
	return out
}
