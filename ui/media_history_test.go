package ui_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/scalar"
	"tracker/store/wandb"
	"tracker/store/wandb/format"
)

// wandbMedia creates a run as W&B's client does. Its history has histograms, and an image with a
// mask and a box at each step.
func (s *site) wandbMedia() (run string) {
	s.t.Helper()
	ctx := s.t.Context()
	config := `{"_wandb":{"value":{"mask/class_labels":{"seen_wandb_delimeter_truth":{"type":"mask/class_labels","key":"truth","value":{"0":"road","2":"car"}}},
		"bounding_box/class_labels":{"seen_wandb_delimeter_guess":{"value":{"3":"<b>sign</b>"}}}}}}`
	saved := must(s.db.Wandb.SaveRun(ctx, domain.System, wandb.Change{Project: "drive", Name: "drive", Config: &config}))(s.t)
	file := func(name, contentType, content string) {
		data := must(s.db.Files.Receive(ctx, strings.NewReader(content), ""))(s.t)
		defer data.Discard()
		if err := s.db.Files.WriteFile(ctx, domain.System, files.Tree{IterationID: saved.ID}, name, contentType, data); err != nil {
			s.t.Fatal(err)
		}
	}
	mask := image.NewGray(image.Rect(0, 0, 32, 32))
	for i := range mask.Pix {
		if i%32 >= 16 {
			mask.Pix[i] = 2
		}
	}
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, mask); err != nil {
		s.t.Fatal(err)
	}
	var rows []format.Row
	for step := range 3 {
		name := func(folder, end string) string {
			return fmt.Sprintf("media/%s_%d_0123456789abcdef0123.%s", folder, step, end)
		}
		file(name("images/seen", "png"), "image/png", picture(uint8(80*step)))
		file(name("images/mask/seen", "mask.png"), "image/png", drawn.String())
		file(name("metadata/boxes2D/seen", "boxes2D.json"), "application/json",
			`{"box_data":[{"position":{"minX":0.25,"maxX":0.75,"minY":0.5,"maxY":1},"class_id":3,"scores":{"p":0.875}},{"position":{"middle":[8,8],"width":4,"height":4},"domain":"pixel","class_id":3,"box_caption":"small"},{"position":null}]}`)
		rows = append(rows, format.Row{Step: scalar.Step(step), HasStep: true, Rest: []format.Member{
			{Key: "weights", Value: fmt.Sprintf(`{"_type":"histogram","values":[1,%d],"bins":[-1,0,1]}`, step)},
			{Key: "packed", Value: `{"_type":"histogram","values":[3,4],"packedBins":{"min":2,"size":0.5,"count":2}}`},
			{Key: "broken", Value: `{"_type":"histogram","values":[3,4],"bins":[1]}`},
			{Key: "text", Value: `"a histogram of masks"`},
			{Key: "seen", Value: fmt.Sprintf(`{"_type":"image-file","path":%q,"masks":{"truth":{"_type":"mask","path":%q}},"boxes":{"guess":{"_type":"boxes2D","path":%q},"lost":{"path":"none.json"}}}`,
				name("images/seen", "png"), name("images/mask/seen", "mask.png"), name("metadata/boxes2D/seen", "boxes2D.json"))}}})
	}
	must(s.db.Wandb.Append(ctx, domain.System, saved.ID, wandb.Stream{Rows: rows, HistoryLines: int64(len(rows))}))(s.t)
	return saved.ID
}

// Histograms in the history of W&B runs are drawn over steps, and images have their boxes and masks.
func TestMediaOfHistory(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	run := s.wandbMedia()
	var found mediaKeys
	s.media(`{"iterations":["`+run+`"]}`).json(t, 200, &found)
	var got []string
	for _, k := range found.Keys {
		got = append(got, fmt.Sprintf("%s %s %d %v", k.Kind, k.Key, k.Count, k.Steps))
	}
	if text := strings.Join(got, "; "); text != "histogram packed 3 [0 1 2]; image seen 3 [0 1 2]; histogram weights 3 [0 1 2]" {
		t.Errorf("the names are %s", text)
	}
	var h struct {
		Low, High float64
		Steps     []int64
		Counts    [][]float64
	}
	for key, low := range map[string]float64{"weights": -1, "packed": 2} {
		s.do("POST", "/data/histograms", strings.NewReader(`{"iterations":["`+run+`"],"key":"`+key+`"}`), header("Content-Type", "application/json")).json(t, 200, &h)
		if len(h.Steps) != 3 || h.Low != low || len(h.Counts) != 3 {
			t.Errorf("%s: %+v", key, h)
		}
	}
	var under struct {
		Media []struct {
			Name  string
			Marks []struct {
				Name, Mask, Boxes string
				Labels            int
			}
		}
		Labels []map[string]string
	}
	s.media(`{"iterations":["`+run+`"],"key":"seen","kind":"image"}`).json(t, 200, &under)
	if len(under.Media) != 3 || len(under.Media[1].Marks) != 2 {
		t.Fatalf("the images are %+v", under.Media)
	}
	mask, boxes := under.Media[1].Marks[0], under.Media[1].Marks[1]
	if mask.Name != "truth" || mask.Mask == "" || mask.Boxes != "" || under.Labels[mask.Labels]["2"] != "car" {
		t.Errorf("the mask is %+v", mask)
	}
	if boxes.Name != "guess" || boxes.Boxes == "" || boxes.Mask != "" || under.Labels[boxes.Labels]["3"] != "<b>sign</b>" {
		t.Errorf("the boxes are %+v", boxes)
	}
	if len(under.Labels) != 2 { // not once for each image
		t.Errorf("the labels are %v", under.Labels)
	}
}

// TestMarksOverImages checks that masks and boxes are drawn over an image and can be switched off,
// and that a legend explains their colours.
func TestMarksOverImages(t *testing.T) {
	t.Parallel()
	s := start(t, setup{base: "/lab"})
	run := s.wandbMedia()
	b := s.openBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(s.url+"/lab/iteration/"+run))
	const group = `[data-media="seen"]`
	b.is(`(document.querySelector('`+group+`')?.scrollIntoView({block: 'center'}), document.querySelectorAll('`+group+` canvas.over').length)`, "1")
	legend := `[...document.querySelectorAll('` + group + ` .marks .mark')].map((m) => m.textContent)`
	b.is(legend, "guess<b>sign</b>,truthroadcar")
	// pixel returns the colour of a pixel that is drawn over the image.
	pixel := func(x, y float64) string {
		return fmt.Sprintf(`(() => { const c = document.querySelector('%s canvas.over'); return [...c.getContext('2d').getImageData(c.width * %g, c.height * %g, 1, 1).data].join(' ') })()`, group, x, y)
	}
	theme := func(n int) color.NRGBA { // the palette's colours in the light theme
		return []color.NRGBA{{0x24, 0x3f, 0xbb, 89}, {}, {0xac, 0x4e, 0x9a, 89}, {0x3c, 0x99, 0x6d, 255}}[n]
	}
	near := func(at string, c color.NRGBA) string {
		return fmt.Sprintf(`((p) => [%d, %d, %d, %d].every((v, i) => Math.abs(v - p[i]) < 4))(%s.split(' ').map(Number))`, c.R, c.G, c.B, c.A, at)
	}
	b.prefer("light")
	b.is(near(pixel(0.1, 0.05), theme(0)), "true")
	b.is(near(pixel(0.9, 0.05), theme(2)), "true")
	b.is(near(pixel(0.25, 0.75), theme(3)), "true") // the edge of the box
	b.press(group + ` [name="marks"][value="truth"]`)
	b.is(pixel(0.1, 0.05), "0 0 0 0")
	b.is(near(pixel(0.25, 0.75), theme(3)), "true")
	b.is(`new URL(location.href).searchParams.get('marks')`, "truth")
	b.press(group + ` a.item`)
	b.is(`(() => { const c = document.querySelector('[data-testid="large"] canvas'); return c.width > 0 && c.clientWidth === document.querySelector('[data-testid="large"] img').clientWidth })()`, "true")
	b.quiet()
}
