package transfer

import "fmt"

// Loss is a part of the source that was not imported or was changed.
type Loss struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // a sentence
}

// maxLosses is the largest number of losses that a Result lists.
const maxLosses = 1000

// Result counts the records that were found and imported.
type Result struct {
	Kind string `json:"kind"`
	Path string `json:"path"`

	Found     int `json:"found"`     // runs
	Created   int `json:"created"`   // runs that are new
	Grown     int `json:"grown"`     // runs that existed and got new data
	Unchanged int `json:"unchanged"` // runs without new data
	LeftOut   int `json:"left_out"`  // runs that were not imported

	Parameters int   `json:"parameters"`
	Tags       int   `json:"tags"`
	Points     int   `json:"points"`
	Dropped    int   `json:"dropped"` // points that a later file of their run repeats
	Artifacts  int   `json:"artifacts"`
	Bytes      int64 `json:"bytes"`           // of artifacts
	Models     int   `json:"models,omitzero"` // logged models, and versions of registered ones

	Losses []Loss `json:"losses"` // the first maxLosses
	Lost   int    `json:"lost"`   // number of all losses
	// Unread counts the files that are not of the kind of the source; nil if there are none. They
	// are not losses.
	Unread *Unread `json:"unread,omitzero"`

	known map[Loss]bool
}

func (r *Result) count(a Artifact) {
	r.Artifacts++
	r.Bytes += max(a.Size, 0)
}

// Lose records something that was not transferred. It records the same loss once.
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
