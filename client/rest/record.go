package rest

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Project is a project.
type Project struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Created     time.Time `json:"created_date"`
	Experiments int       `json:"experiment_count"`
	Runs        int       `json:"iteration_count"`
}

// Experiment is an experiment of a project.
type Experiment struct {
	ID          string    `json:"id"`
	ProjectID   string    `json:"project_id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Status      string    `json:"status"`
	Created     time.Time `json:"created_date"`
}

// Run is an iteration of an experiment.
type Run struct {
	ID           string            `json:"id"`
	ExperimentID string            `json:"experiment_id"`
	ParentID     *string           `json:"parent_iteration_id"`
	Name         string            `json:"name"`
	Notes        string            `json:"notes"`
	Status       string            `json:"status"`
	Error        string            `json:"error_message"`
	Created      time.Time         `json:"created_date"`
	Ended        *time.Time        `json:"end_date"`
	LastSeen     time.Time         `json:"last_seen"`
	StopAsked    *time.Time        `json:"stop_requested"`
	StopBy       *string           `json:"stop_requested_by"`
	Tags         []string          `json:"tags"`
	Params       map[string]string `json:"params,omitempty"`  // parameters that the request asked for
	Metrics      map[string]Number `json:"metrics,omitempty"` // metrics that the request asked for
}

// Duration returns the time from the run's creation to its end. For a run that has not ended,
// it returns the time until the run was last seen.
func (r Run) Duration() time.Duration {
	if r.Ended != nil {
		return r.Ended.Sub(r.Created)
	}
	return r.LastSeen.Sub(r.Created)
}

// Running is the status of a run that has not ended.
const Running = "RUNNING"

// Statistics holds the statistics of one metric of a run. Min, Max and Mean cover only the
// finite values, and are nil if no value is finite.
type Statistics struct {
	Count    int64   `json:"count"`
	Last     Number  `json:"last"`
	LastStep int64   `json:"last_step"`
	Min      *Number `json:"min"`
	MinStep  *int64  `json:"min_step"`
	Max      *Number `json:"max"`
	MaxStep  *int64  `json:"max_step"`
	Mean     *Number `json:"mean"`
}

// Summary holds a run's metric statistics, parameters and tags.
type Summary struct {
	Metrics map[string]Statistics `json:"metrics"`
	Params  map[string]string     `json:"params"`
	Tags    []string              `json:"tags"`
}

// Snapshot holds the code and environment of a run.
type Snapshot struct {
	GitSHA     string `json:"git_sha"`
	GitDirty   *bool  `json:"git_dirty"`
	GitRemote  string `json:"git_remote"`
	Entrypoint string `json:"entrypoint"`
	Command    string `json:"command"`
	Hostname   string `json:"hostname"`
	Runtime    string `json:"runtime"`
}

// Artifact is a file that a run has logged.
type Artifact struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Size        int64     `json:"size_bytes"`
	Hash        string    `json:"content_hash"`
	ContentType string    `json:"content_type"`
	Created     time.Time `json:"created_date"`
}

// Curve holds a metric of a run as columns. Min and Max are set only if the curve was reduced
// to the requested number of points.
type Curve struct {
	RunID string   `json:"iteration_id"`
	Key   string   `json:"key"`
	Count int64    `json:"count"`
	Shown int      `json:"shown"`
	Step  []int64  `json:"step"`
	Value []Number `json:"value"`
	Min   []Number `json:"min,omitempty"`
	Max   []Number `json:"max,omitempty"`
}

// Number is the value of a metric. In JSON, NaN and the infinities are strings.
type Number float64

// UnmarshalJSON parses a JSON number or one of the strings NaN, Infinity and -Infinity.
func (n *Number) UnmarshalJSON(data []byte) error {
	var text string
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", text)
		}
		*n = Number(value)
		return nil
	}
	return json.Unmarshal(data, (*float64)(n))
}

// MarshalJSON returns the JSON that UnmarshalJSON parses.
func (n Number) MarshalJSON() ([]byte, error) {
	switch {
	case math.IsNaN(float64(n)):
		return []byte(`"NaN"`), nil
	case math.IsInf(float64(n), 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(float64(n), -1):
		return []byte(`"-Infinity"`), nil
	}
	return json.Marshal(float64(n))
}

// String returns the number with six significant digits.
func (n Number) String() string { return strconv.FormatFloat(float64(n), 'g', 6, 64) }

// Member is the permission of a user on a project.
type Member struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Create   bool   `json:"create_permission"`
	Read     bool   `json:"read_permission"`
	Update   bool   `json:"update_permission"`
	Delete   bool   `json:"delete_permission"`
	Owner    bool   `json:"owner"`
}

// Rights are permissions to set.
type Rights struct {
	Create bool `json:"create_permission"`
	Read   bool `json:"read_permission"`
	Update bool `json:"update_permission"`
	Delete bool `json:"delete_permission"`
	Owner  bool `json:"owner"`
}
