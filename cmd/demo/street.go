package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"strings"

	"tracker/store/scalar"
	"tracker/store/wandb"
	"tracker/store/wandb/format"
)

const (
	streetEvery = 80 // steps between two street scenes of a run
	streetKey   = "val/street"

	predictionsKey = "val/predictions"
	predictionRows = 80

	streetWidth, streetHeight = 160, 96 // width and height in pixels
)

// signPlace is a sign in the street scene: its kind, the pixel in its middle, and half its
// width.
type signPlace struct{ sign, x, y, size int }

var streetSigns = []signPlace{{1, 34, 38, 13}, {2, 118, 30, 15}, {3, 84, 52, 7}}

// Classes of the mask. The classes of the boxes have higher numbers, so that every class has
// its own colour.
const (
	roadClass = 1 + iota
	signClass
	firstBoxClass
)

// streetLabels is the part of a run's configuration that names the classes, in the format of
// W&B's client.
const streetLabels = `{"_wandb":{"value":{
	"mask/class_labels":{"val/street_wandb_delimeter_segmentation":{"value":{"1":"road","2":"sign"}}},
	"bounding_box/class_labels":{"val/street_wandb_delimeter_detections":{"value":{"3":"stop","4":"yield","5":"mandatory","6":"priority"}}}}}}`

// streetFile returns the name that W&B's client would choose for a file of a scene.
func streetFile(folder string, step int, end string) string {
	return fmt.Sprintf("media/%s/%s_%d_%020x.%s", folder, streetKey, step, step, end)
}

// streets returns the street scenes of a run, with the predicted masks and boxes.
func (r run) streets() (all []medium) {
	rnd := rand.New(rand.NewPCG(47, uint64(len(r.name))))
	name := fnv.New64a()
	name.Write([]byte(r.name))
	guesses := rand.New(rand.NewPCG(53, name.Sum64()))
	for step := streetEvery - 1; step < r.steps; step += streetEvery {
		learned := 1 - math.Exp(-float64(step)/120)
		all = append(all,
			medium{step, streetFile("images", step, "png"), "image/png", picture(streetScene())},
			medium{step, streetFile("images/mask", step, "mask.png"), "image/png", picture(streetMask(learned, rnd))},
			medium{step, streetFile("metadata/boxes2D", step, "boxes2D.json"), "application/json", streetBoxes(learned, rnd)},
			medium{step, strings.ReplaceAll(streetFile("table", step, "table.json"), streetKey, predictionsKey), "application/json", predictions(step, learned, guesses)})
	}
	return all
}

// predictions returns a table of predictions with saliency maps, in the format of W&B's client. The
// more the run has learned, the more predictions are right.
func predictions(step int, learned float64, r *rand.Rand) []byte {
	kinds := []string{"stop", "yield", "mandatory", "priority"}
	var rows [][]any
	for i := range predictionRows {
		sign := i % len(kinds)
		guess, confidence := sign, 0.4+0.6*learned*(0.5+0.5*r.Float64())
		if r.Float64() > 0.4+0.55*learned {
			guess, confidence = (sign+1+r.IntN(3))%len(kinds), 0.3+0.4*r.Float64()
		}
		name := fmt.Sprintf("val/saliency_%d_%d.png", step, sign)
		rows = append(rows, []any{fmt.Sprintf("GTSRB-%05d", 17*i+40), map[string]any{"_type": "image-file", "path": name, "caption": kinds[sign]},
			kinds[sign], kinds[guess], math.Round(1e4*confidence) / 1e4, guess == sign, []int{sign, guess}})
	}
	text, err := json.Marshal(map[string]any{"columns": []string{"id", "saliency", "sign", "guess", "confidence", "right", "classes"}, "data": rows})
	if err != nil {
		panic(err) // the values are texts and finite numbers
	}
	return text
}

// logStreets writes the history rows that link each scene with its masks and boxes.
func (w *writer) logStreets(ctx context.Context, id string, r run) error {
	var rows []format.Row
	for step := streetEvery - 1; step < r.steps; step += streetEvery {
		value := fmt.Sprintf(`{"_type":"image-file","path":%q,"masks":{"segmentation":{"_type":"mask","path":%q}},"boxes":{"detections":{"_type":"boxes2D","path":%q}}}`,
			streetFile("images", step, "png"), streetFile("images/mask", step, "mask.png"), streetFile("metadata/boxes2D", step, "boxes2D.json"))
		rows = append(rows, format.Row{Step: scalar.Step(step), HasStep: true, Rest: []format.Member{{Key: streetKey, Value: value}}})
	}
	if _, err := w.db.Wandb.SaveRun(ctx, w.actor, wandb.Change{ID: id, Config: new(streetLabels)}); err != nil {
		return err
	}
	_, err := w.db.Wandb.Append(ctx, w.actor, id, wandb.Stream{Rows: rows, HistoryLines: int64(len(rows))})
	return err
}

// onRoad reports whether a pixel of the scene is on the road. The road narrows towards the
// horizon.
func onRoad(x, y int) bool {
	below := float64(y) - 0.55*streetHeight
	return below > 0 && math.Abs(float64(x)-streetWidth/2) < 6+1.6*below
}

// signAt returns the kind of the sign that covers a pixel. edge is the distance from the middle
// of the sign to the pixel, scaled to 1 at the edge. ok is false if no sign covers the pixel.
func signAt(x, y int) (kind int, edge float64, ok bool) {
	for _, s := range streetSigns {
		edge := signEdge(s.sign, float64(x-s.x)/float64(s.size), float64(y-s.y)/float64(s.size))
		if edge < 1 {
			return s.sign, edge, true
		}
	}
	return 0, 0, false
}

func streetScene() image.Image {
	m := image.NewRGBA(image.Rect(0, 0, streetWidth, streetHeight))
	for y := range streetHeight {
		for x := range streetWidth {
			down := float64(y) / streetHeight
			c := [3]float64{150 + 60*down, 186 + 36*down, 216 + 20*down} // colour of the sky
			switch kind, edge, ok := signAt(x, y); {
			case ok && edge > 0.74:
				c = signColors[kind][1]
			case ok:
				c = signColors[kind][0]
			case onRoad(x, y):
				c = [3]float64{92, 94, 100}
				if math.Abs(float64(x)-streetWidth/2) < 0.06*float64(y-streetHeight/2) && y/6%2 == 0 {
					c = [3]float64{230, 230, 226}
				}
			case down > 0.55:
				c = [3]float64{98, 128, 84}
			}
			m.SetRGBA(x, y, color.RGBA{uint8(c[0]), uint8(c[1]), uint8(c[2]), 255})
		}
	}
	return m
}

// streetMask returns the predicted class of each pixel. At first most predictions are wrong; once
// the network has learned, only a few are.
func streetMask(learned float64, r *rand.Rand) image.Image {
	const block = 4 // width and height of a square with wrong predictions
	m := image.NewGray(image.Rect(0, 0, streetWidth, streetHeight))
	wrong := make([]bool, streetWidth/block*streetHeight/block)
	for i := range wrong {
		wrong[i] = r.Float64() < 0.45*(1-learned)
	}
	for y := range streetHeight {
		for x := range streetWidth {
			class := 0
			if _, _, ok := signAt(x, y); ok {
				class = signClass
			} else if onRoad(x, y) {
				class = roadClass
			}
			if wrong[y/block*(streetWidth/block)+x/block] {
				class = (class + 1) % 3
			}
			m.SetGray(x, y, color.Gray{uint8(class)})
		}
	}
	return m
}

// streetBoxes returns the predicted boxes around the signs. The small sign gets a box only late in
// training.
func streetBoxes(learned float64, r *rand.Rand) []byte {
	type box struct {
		Position map[string]float64 `json:"position"`
		Class    int                `json:"class_id"`
		Scores   map[string]float64 `json:"scores"`
	}
	boxes := []box{}
	for _, s := range streetSigns {
		score := 0.98*learned - 0.4/float64(s.size)
		if score < 0.5 {
			continue
		}
		miss := func() float64 { return 0.6 * (1 - learned) * float64(s.size) * r.NormFloat64() }
		boxes = append(boxes, box{map[string]float64{
			"minX": (float64(s.x-s.size) + miss()) / streetWidth, "maxX": (float64(s.x+s.size) + miss()) / streetWidth,
			"minY": (float64(s.y-s.size) + miss()) / streetHeight, "maxY": (float64(s.y+s.size) + miss()) / streetHeight,
		}, firstBoxClass + s.sign, map[string]float64{"confidence": math.Round(100*score) / 100}})
	}
	body, err := json.Marshal(map[string]any{"box_data": boxes})
	if err != nil {
		panic(err) // all values are finite, so they can be encoded
	}
	return body
}
