package format

import (
	"strings"

	"tracker/store/json"
)

// Histogram is a histogram in a history row. Counts[i] is the number of values between Edges[i]
// and Edges[i+1].
type Histogram struct {
	Edges  []float64
	Counts []float64
}

// MaxBins is the maximum number of bins in a parsed histogram.
const MaxBins = 4096

// ParseHistogram parses a histogram in a history row. ok is false if value is not a histogram.
func ParseHistogram(value string) (h Histogram, ok bool) {
	var in struct {
		Type   string    `json:"_type"`
		Counts []float64 `json:"values"`
		Edges  []float64 `json:"bins"`
		Packed *struct {
			Min   float64 `json:"min"`
			Size  float64 `json:"size"`
			Count int     `json:"count"`
		} `json:"packedBins"`
	}
	if !strings.Contains(value, "histogram") || !read(value, &in) || in.Type != "histogram" || len(in.Counts) == 0 || len(in.Counts) > MaxBins {
		return h, false
	}
	if p := in.Packed; p != nil && len(in.Edges) == 0 {
		for i := range len(in.Counts) + 1 {
			in.Edges = append(in.Edges, p.Min+float64(i)*p.Size)
		}
	}
	return Histogram{Edges: in.Edges, Counts: in.Counts}, len(in.Edges) == len(in.Counts)+1
}

// Image is an image with boxes or masks in a history row.
type Image struct {
	File  string // name of the image file in the files of the run
	Marks []Mark
}

// Mark holds either the boxes of an image or a mask. A mask is an image in which each pixel
// value is a class number.
type Mark struct {
	Name string
	Mask bool
	File string
}

// marks maps the names of an image's marks to their files, in the format of W&B's clients.
type marks map[string]struct {
	Path string `json:"path"`
}

// MarkedImages returns the images with boxes or masks in a history value.
func MarkedImages(value string) (all []Image) {
	var in struct {
		Type  string   `json:"_type"`
		Path  string   `json:"path"`
		Files []string `json:"filenames"`
		Boxes marks    `json:"boxes"`
		Masks marks    `json:"masks"`
		// AllBoxes and AllMasks have one entry for each image in a list of images.
		AllBoxes []marks `json:"all_boxes"`
		AllMasks []marks `json:"all_masks"`
	}
	if !strings.Contains(value, "boxes") && !strings.Contains(value, "masks") || !read(value, &in) {
		return nil
	}
	switch in.Type {
	case "image-file":
		in.Files, in.AllBoxes, in.AllMasks = []string{in.Path}, []marks{in.Boxes}, []marks{in.Masks}
	case "images/separated":
	default:
		return nil
	}
	for i, file := range in.Files {
		one := Image{File: file}
		for _, kind := range []struct {
			all  []marks
			mask bool
		}{{in.AllMasks, true}, {in.AllBoxes, false}} {
			if i >= len(kind.all) {
				continue
			}
			for name, m := range kind.all[i] {
				one.Marks = append(one.Marks, Mark{Name: name, Mask: kind.mask, File: m.Path})
			}
		}
		if len(one.Marks) > 0 {
			all = append(all, one)
		}
	}
	return all
}

// ClassLabels reads the class names of masks or boxes from the configuration of a run. It returns a
// function that looks up the class names by the key of an image and the name of a mark.
func ClassLabels(config string, mask bool) func(key, name string) map[string]string {
	kind := "bounding_box/class_labels"
	if mask {
		kind = "mask/class_labels"
	}
	text := config
	for _, name := range []string{"_wandb", "value", kind} {
		text = MemberOf(text, name)
	}
	var all map[string]struct {
		Value map[string]string `json:"value"`
	}
	if text != "" && !read(text, &all) {
		all = nil
	}
	return func(key, name string) map[string]string { return all[key+"_wandb_delimeter_"+name].Value }
}

// read decodes JSON from a client and stores the result in the value pointed to by into. It reports
// whether the JSON is valid.
func read(text string, into any) bool {
	return json.Unmarshal([]byte(text), into, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)) == nil
}
