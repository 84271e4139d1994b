package transfer

import "fmt"

// Loss is something that was not imported, or was changed.
type Loss struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // a sentence
}

// maxLosses bounds the losses that a Result lists.
const maxLosses = 1000

// Result counts what was found and what was imported.
type Result struct {
	Kind string `json:"kind"`
	Path string `json:"path"`

	Found     int `json:"found"`     // runs
	Created   int `json:"created"`   // of them
	Grown     int `json:"grown"`     // those that existed and got something new
	Unchanged int `json:"unchanged"` // those with nothing new
	LeftOut   int `json:"left_out"`  // those of which nothing was imported

	Parameters int   `json:"parameters"`
	Tags       int   `json:"tags"`
	Points     int   `json:"points"`
	Dropped    int   `json:"dropped"` // points that a later file of their run repeats
	Artifacts  int   `json:"artifacts"`
	Bytes      int64 `json:"bytes"`           // of artifacts
	Models     int   `json:"models,omitzero"` // logged models, and versions of registered ones

	Losses []Loss `json:"losses"` // the first maxLosses
	Lost   int    `json:"lost"`   // all of them
	// Unread counts files that are not of the kind of the source; nil if there are none. They are not losses.
	Unread *Unread `json:"unread,omitzero"`

	known map[Loss]bool
}

func (r *Result) count(a Artifact) {
	r.Artifacts++
	r.Bytes += max(a.Size, 0)
}

// Lose adds a loss. The same loss is counted once.
func (r *Result) Lose(path, format string, args ...any) {
	l := Loss{path, fmt.Sprintf(format, args...)}
	if r.known[l] {
		return
	}
	r.Lost++
	if len(r.known) < maxLosses {
		if r.known == nil {
			r.known = map[Loss]bool{}
		}
		r.known[l] = true
		r.Losses = append(r.Losses, l)
	}
}
