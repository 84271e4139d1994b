package tensorboard

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"tracker/store/json"
	"tracker/store/transfer"
	"tracker/store/transfer/wire"
)

const hparamsPlugin = "hparams"

// media imports a value that is not a scalar as artifacts or parameters. position is the offset of
// the event in the file.
func (r *reader) media(ctx context.Context, step int64, at transfer.Time, t *tag, v *value, position int64) error {
	switch t.plugin {
	case hparamsPlugin:
		return r.hparams(v.content)
	case "images", "audio", "text", "histograms":
	default:
		r.im.Lose(r.file.path, "%q belongs to TensorBoard's plugin %q, which is not imported.", t.key, t.plugin)
		return nil
	}
	if r.im.NoArtifacts {
		return nil
	}
	if !r.w.Known() { // the run must be written before its artifacts
		r.mark(position, false)
		if err := r.w.Flush(ctx); err != nil {
			return err
		}
	}
	if t.plugin == "histograms" {
		return r.histogram(ctx, step, at, t, v)
	}
	parts, err := mediaOf(t.plugin, v)
	if err != nil {
		return &valueError{fmt.Errorf("the value of %q can't be read: %w", t.key, err)}
	}
	if len(parts) == 0 {
		return nil
	}
	for i, data := range parts {
		contentType, extension := typeOf(t.plugin, data)
		name := t.plugin + "/" + strings.TrimSuffix(t.key, "/text_summary") + "/" + strconv.FormatInt(step, 10)
		if len(parts) > 1 {
			name += "-" + strconv.Itoa(i+1)
		}
		if err := r.w.Made(ctx, name+extension, contentType, bytes.Clone(data), at); err != nil {
			return err
		}
	}
	return nil
}

// mediaOf returns the files contained in a value. An old value contains a single file. A new
// value contains a tensor of strings.
func mediaOf(plugin string, v *value) (parts [][]byte, err error) {
	for message, field := range map[*[]byte]protowire.Number{&v.image: 4, &v.audio: 4} {
		err := wire.Fields(*message, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
			if n == field && data != nil {
				parts = [][]byte{data}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if parts != nil || v.tensor == nil {
		return parts, nil
	}
	x, err := parseTensor(v.tensor)
	if err != nil {
		return nil, err
	}
	switch plugin {
	case "images": // the strings are the width, the height and the images
		if len(x.strings) < 3 {
			return nil, nil
		}
		return x.strings[2:], nil
	case "audio": // the strings are pairs of a sound and its label
		for i := 0; i < len(x.strings); i += 2 {
			parts = append(parts, x.strings[i])
		}
		return parts, nil
	}
	return x.strings, nil
}

// typeOf returns the media type and the file extension of a file's content.
func typeOf(plugin string, data []byte) (contentType, extension string) {
	if plugin == "text" {
		return "text/markdown", ".md"
	}
	contentType = http.DetectContentType(data)
	switch contentType {
	case "image/png":
		return contentType, ".png"
	case "image/jpeg":
		return contentType, ".jpg"
	case "image/gif":
		return contentType, ".gif"
	case "audio/wave":
		return "audio/wav", ".wav"
	}
	return "application/octet-stream", ".bin"
}

// histograms collects histograms of one tag for one artifact. The artifact contains a line of
// JSON for each histogram.
type histograms struct {
	first int64 // step of the first histogram
	at    transfer.Time
	lines bytes.Buffer
	key   string
}

// maxHistograms is the total size in bytes at which the collected histograms are written.
const maxHistograms = 1 << 20

// histogramLine is one line of an artifact with histograms. A bucket consists of its left edge,
// its right edge and its count. An infinite edge is null.
type histogramLine struct {
	Step    int64         `json:"step"`
	Time    transfer.Time `json:"time"`
	Buckets [][3]*float64 `json:"buckets"`
}

func (r *reader) histogram(ctx context.Context, step int64, at transfer.Time, t *tag, v *value) error {
	buckets, err := bucketsOf(v)
	if err != nil {
		return &valueError{fmt.Errorf("the histogram of %q can't be read: %w", t.key, err)}
	}
	line, err := json.Marshal(histogramLine{step, at, buckets})
	if err != nil {
		return &valueError{err}
	}
	h := r.histograms[t.key]
	if h == nil {
		h = &histograms{first: step, at: at, key: t.key}
		r.histograms[t.key] = h
	}
	h.lines.Write(append(line, '\n'))
	size := 0
	for _, h := range r.histograms {
		size += h.lines.Len()
	}
	if size < maxHistograms {
		return nil
	}
	return r.saveHistograms(ctx)
}

// saveHistograms writes the collected histograms as artifacts. The caller must call it before each
// mark, so that an import that continues from a mark creates the same artifacts.
func (r *reader) saveHistograms(ctx context.Context) error {
	for _, h := range r.histograms {
		name := "histograms/" + h.key + "/" + strconv.FormatInt(h.first, 10) + ".jsonl"
		if err := r.w.Made(ctx, name, "application/x-ndjson", h.lines.Bytes(), h.at); err != nil {
			return err
		}
	}
	clear(r.histograms)
	return nil
}

// bucketsOf returns the buckets of a histogram, which is a HistogramProto or a tensor.
func bucketsOf(v *value) (buckets [][3]*float64, err error) {
	if v.histogram == nil {
		x, err := parseTensor(v.tensor)
		if err != nil {
			return nil, err
		}
		for n := x.numbers; len(n) >= 3; n = n[3:] {
			buckets = append(buckets, [3]*float64{finite(n[0]), finite(n[1]), finite(n[2])})
		}
		return buckets, nil
	}
	var limits, counts tensor
	smallest := math.Inf(-1)
	err = wire.Fields(v.histogram, func(n protowire.Number, t protowire.Type, number uint64, data []byte) error {
		switch n {
		case 1:
			smallest = math.Float64frombits(number)
		case 6:
			return limits.elements(t, number, data, 8, math.Float64frombits)
		case 7:
			return counts.elements(t, number, data, 8, math.Float64frombits)
		}
		return nil
	})
	left := smallest
	for i := range min(len(limits.numbers), len(counts.numbers)) {
		right := limits.numbers[i]
		if counts.numbers[i] != 0 {
			buckets = append(buckets, [3]*float64{finite(left), finite(right), finite(counts.numbers[i])})
		}
		left = right
	}
	return buckets, err
}

// finite returns a pointer to x, or nil if JSON can't represent x.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) || math.Abs(x) >= math.MaxFloat64 {
		return nil
	}
	return &x
}

// hparams imports an HParamsPluginData message. The message contains the hyperparameters or the
// final status of a session.
func (r *reader) hparams(content []byte) error {
	return wire.Fields(content, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
		switch n {
		case 3:
			return wire.Fields(data, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
				if n != 1 {
					return nil
				}
				return r.hparam(data)
			})
		case 4:
			return r.sessionEnd(data)
		}
		return nil
	})
}

// hparam adds one hyperparameter as a parameter of the run.
func (r *reader) hparam(entry []byte) error {
	var key, text string
	err := wire.Fields(entry, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
		if n == 1 {
			key = string(data)
		}
		if n != 2 {
			return nil
		}
		return wire.Fields(data, func(n protowire.Number, _ protowire.Type, number uint64, data []byte) error {
			switch n {
			case 1:
				text = "null"
			case 2:
				text = formatNumber(math.Float64frombits(number))
			case 3:
				text = string(data)
			case 4:
				text = strconv.FormatBool(number != 0)
			default:
				r.im.Lose(r.file.path, "The hyperparameter %q is a list or a structure and is not imported.", key)
			}
			return nil
		})
	})
	if err == nil && key != "" {
		r.w.Parameter(key, text)
	}
	return err
}

// sessionEnd sets the status and the end time of the run. It ignores a message without a time,
// because PyTorch writes such a message together with the hyperparameters.
func (r *reader) sessionEnd(data []byte) error {
	var status uint64
	var seconds float64
	err := wire.Fields(data, func(n protowire.Number, _ protowire.Type, number uint64, _ []byte) error {
		switch n {
		case 1:
			status = number
		case 2:
			seconds = math.Float64frombits(number)
		}
		return nil
	})
	ended, ok := timeOf(seconds)
	if err != nil || !ok || seconds == 0 {
		return err
	}
	run := r.w.Run()
	switch status {
	case 1:
		run.Status, run.Ended = transfer.Succeeded, &ended
	case 2:
		run.Status, run.Ended = transfer.Failed, &ended
	}
	return nil
}
