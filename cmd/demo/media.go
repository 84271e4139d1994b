package demo

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
	"image/gif"
	"image/png"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"tracker/store/files"
)

// mediaEvery is the number of steps between two pictures of a run.
const mediaEvery = 40

// medium is a file that a run logs at a step.
type medium struct {
	step              int
	name, contentType string
	data              []byte
}

// media returns the files that a classifier logs. While the run trains, it logs saliency maps,
// confusion matrices and histograms of weights. At the end it logs a table, a sound and a page. The
// Python client would choose the same kind of file names.
func (r run) media() []medium {
	var all []medium
	rnd := rand.New(rand.NewPCG(43, uint64(len(r.name))))
	last := 0
	for step := mediaEvery - 1; step < r.steps; step += mediaEvery {
		learned := 1 - math.Exp(-float64(step)/120)
		for sign := range 4 {
			all = append(all, medium{step, fmt.Sprintf("val/saliency_%d_%d.png", step, sign), "image/png", picture(saliency(sign, learned, rnd))})
		}
		all = append(all,
			medium{step, fmt.Sprintf("val/confusion_%d.png", step), "image/png", picture(confusion(learned, rnd))},
			medium{step, fmt.Sprintf("weights/conv1_%d.histogram.json", step), "application/json", weights(learned, rnd)})
		last = step
	}
	if last > 0 {
		all = append(all,
			medium{last, fmt.Sprintf("val/learning_%d.gif", last), "image/gif", learning(last, rnd)},
			medium{last, fmt.Sprintf("val/mistakes_%d.csv", last), "text/csv; charset=utf-8", []byte(mistakes)},
			medium{last, fmt.Sprintf("alert_%d.wav", last), "audio/wav", tone(0.6, 660, 880)},
			medium{last, fmt.Sprintf("errors-by-class_%d.html", last), "text/html; charset=utf-8", []byte(page)})
	}
	return all
}

// keep writes the media of a run. Each file has the time of its step.
func (w *writer) keep(ctx context.Context, experimentID, id string, r run, start time.Time) error {
	if !r.pictures {
		return nil
	}
	for _, m := range append(r.media(), r.streets()...) {
		w.clock.set(start.Add(time.Duration(m.step+1) * r.pace))
		got, err := w.db.Files.Receive(ctx, bytes.NewReader(m.data), "")
		if err != nil {
			return err
		}
		_, err = w.db.Files.CreateArtifact(ctx, w.actor, experimentID, files.NewArtifact{Name: m.name, ContentType: m.contentType, IterationID: id}, got)
		if err != nil {
			return err
		}
	}
	return w.logStreets(ctx, id, r)
}

func picture(m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err) // the image has a size, so it can be encoded
	}
	return b.Bytes()
}

// learning returns a GIF animation of the saliency map from the first to the last step.
func learning(last int, r *rand.Rand) []byte {
	const frames = 16
	film := gif.GIF{}
	for i := range frames {
		learned := 1 - math.Exp(-float64(last*i/(frames-1))/120)
		frame := image.NewPaletted(image.Rect(0, 0, 4*signSize, signSize), palette.WebSafe)
		for sign := range 4 {
			at := image.Rect(sign*signSize, 0, (sign+1)*signSize, signSize)
			draw.Draw(frame, at, saliency(sign, learned, r), image.Point{}, draw.Src)
		}
		film.Image = append(film.Image, frame)
		film.Delay = append(film.Delay, 20) // in hundredths of a second
	}
	film.Delay[frames-1] = 150
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &film); err != nil {
		panic(err) // every frame has a size, so the film can be encoded
	}
	return b.Bytes()
}

const signSize = 48 // width and height in pixels

// saliency draws a traffic sign and marks the region with high saliency in yellow. As the network
// learns, the region shrinks from the whole image to the middle of the sign.
func saliency(sign int, learned float64, r *rand.Rand) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, signSize, signSize))
	for y := range signSize {
		for x := range signSize {
			dx, dy := (float64(x)-23.5)/20, (float64(y)-23.5)/20
			c := [3]float64{96 + 30*dy, 124, 142}
			if edge := signEdge(sign, dx, dy); edge < 1 {
				c = signColors[sign][0]
				if edge > 0.74 {
					c = signColors[sign][1]
				}
			}
			distance := math.Hypot(dx, dy)
			look := learned*math.Exp(-3*distance*distance) + (1-learned)*r.Float64()
			for i, yellow := range [3]float64{255, 214, 10} {
				c[i] += (yellow - c[i]) * 0.65 * look
			}
			m.SetRGBA(x, y, color.RGBA{uint8(c[0]), uint8(c[1]), uint8(c[2]), 255})
		}
	}
	return m
}

// signColors holds the fill colour and the border colour of each sign.
var signColors = [4][2][3]float64{
	{{200, 32, 40}, {240, 240, 240}}, {{244, 244, 238}, {200, 32, 40}}, {{30, 90, 180}, {236, 240, 248}}, {{246, 190, 40}, {250, 250, 246}},
}

// signEdge returns the distance from the middle of a sign to a point, scaled to 1 at the edge
// of the sign. The signs are an octagon, a triangle, a disc, and a square standing on its
// corner.
func signEdge(sign int, x, y float64) float64 {
	ax, ay := math.Abs(x), math.Abs(y)
	switch sign {
	case 0:
		return max(ax, ay, (ax+ay)/1.4)
	case 1:
		return max(y/0.8, ax*1.15-y*0.65)
	case 2:
		return math.Hypot(x, y)
	}
	return ax + ay
}

// confusion draws a confusion matrix with ten classes. Rows are true classes and columns are
// predicted classes. Darker cells stand for a larger share of the photographs.
func confusion(learned float64, r *rand.Rand) image.Image {
	const classes, field = 10, 12
	m := image.NewRGBA(image.Rect(0, 0, classes*field, classes*field))
	for row := range classes {
		for column := range classes {
			share := (1 - learned) * 0.3 * r.Float64()
			if row == column {
				share = 0.15 + 0.8*learned
			} else if row/2 == column/2 {
				share += 0.2 * (1 - learned/2)
			}
			shade := uint8(250 - 200*share)
			for at := range field * field {
				m.SetRGBA(column*field+at%field, row*field+at/field, color.RGBA{shade, shade, uint8(252 - 100*share), 255})
			}
		}
	}
	return m
}

// weights returns a histogram of 4,096 weights. The weights split into two groups as the
// network learns.
func weights(learned float64, r *rand.Rand) []byte {
	const bins, values = 48, 4096
	low, high := -0.35-0.5*learned, 0.35+0.5*learned
	edges, counts := make([]float64, bins+1), make([]int, bins)
	for i := range edges {
		edges[i] = low + (high-low)*float64(i)/bins
	}
	for range values {
		v := 0.1 * r.NormFloat64()
		if r.Float64() < 0.5*learned {
			v += 0.45 * learned * math.Copysign(1, r.Float64()-0.4)
		}
		at := int((v - low) / (high - low) * bins)
		counts[min(bins-1, max(0, at))]++
	}
	body, err := json.Marshal(map[string]any{"edges": edges, "counts": counts, "not_finite": 0})
	if err != nil {
		panic(err) // all values are finite, so they can be encoded
	}
	return body
}

// tone returns a sound that plays each frequency for the given number of seconds.
func tone(seconds float64, frequencies ...float64) []byte {
	const rate = 8000
	var samples []int16
	for _, f := range frequencies {
		n := int(seconds * rate)
		for i := range n {
			t := float64(i) / rate
			fade := min(1, float64(i)/200, float64(n-i)/200)
			samples = append(samples, int16(9000*fade*math.Sin(2*math.Pi*f*t)))
		}
	}
	var b bytes.Buffer
	b.WriteString("RIFF")
	put := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) } // writing to a buffer can't fail
	put(uint32(36 + 2*len(samples)))
	b.WriteString("WAVEfmt ")
	for _, v := range []any{uint32(16), uint16(1), uint16(1), uint32(rate), uint32(2 * rate), uint16(2), uint16(16)} {
		put(v)
	}
	b.WriteString("data")
	put(uint32(2 * len(samples)))
	put(samples)
	return b.Bytes()
}

var mistakes = strings.TrimSpace(`
photo,label,predicted,confidence
00412.png,Speed limit 30,Speed limit 80,0.61
01290.png,No passing,No passing for trucks,0.55
02077.png,Keep left,Keep right,0.82
03315.png,Roundabout,Keep right,0.47
05008.png,Wild animals,Bicycles crossing,0.51
`) + "\n"

const page = `<!doctype html>
<meta charset="utf-8">
<title>Errors by class</title>
<style>
  body { margin: 16px; color: #1d1e22; font: 14px/20px system-ui, sans-serif; }
  button { margin-bottom: 8px; }
  div { display: grid; grid-template-columns: 140px 1fr; gap: 4px 8px; }
  i { height: 16px; background: #4552c4; }
</style>
<h3>Errors by class</h3>
<button>Sort</button>
<div></div>
<script>
  const errors = [['Stop', 2], ['Yield', 5], ['Keep left', 23], ['Keep right', 9], ['Roundabout', 31], ['No passing', 14]];
  const draw = () => document.querySelector('div').replaceChildren(...errors.flatMap(([name, n]) => {
    const [label, bar] = [document.createElement('span'), document.createElement('i')];
    label.textContent = name + ': ' + n;
    bar.style.width = 8 * n + 'px';
    return [label, bar];
  }));
  document.querySelector('button').onclick = () => { errors.sort((a, b) => b[1] - a[1]); draw(); };
  draw();
</script>
`
