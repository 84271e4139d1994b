package transfer

import "fmt"

// Loss describes a part of the source that was changed or not transferred.
type Loss struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // message of one sentence
}

// maxLosses is the maximum number of losses listed in a Result.
const maxLosses = 1000

// Result holds the counts and losses of an import or export.
type Result struct {
	Kind string `json:"kind"`
	Path string `json:"path"`

	Found     int `json:"found"`     // number of runs in the source
	Created   int `json:"created"`   // number of new runs
	Grown     int `json:"grown"`     // number of existing runs that got new data
	Unchanged int `json:"unchanged"` // number of runs without new data
	LeftOut   int `json:"left_out"`  // number of runs that were not imported

	Parameters int   `json:"parameters"`
	Tags       int   `json:"tags"`
	Points     int   `json:"points"`
	Dropped    int   `json:"dropped"` // number of points replaced by later points of the same run
	Artifacts  int   `json:"artifacts"`
	Bytes      int64 `json:"bytes"`           // total size of the artifacts
	Models     int   `json:"models,omitzero"` // number of logged models plus number of versions of registered models

	Losses []Loss `json:"losses"` // the first maxLosses losses
	Lost   int    `json:"lost"`   // total number of losses
	// Unread counts the files that the source does not recognize. It is nil if there are none.
	// Unrecognized files do not count as losses.
	Unread *Unread `json:"unread,omitzero"`

	known map[Loss]bool
}

func (r *Result) count(a Artifact) {
	r.Artifacts++
	r.Bytes += max(a.Size, 0)
}

// Lose records a part of the source that was not transferred. A loss with the same path and reason
// is recorded only once.
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
