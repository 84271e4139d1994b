package mlflow

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"

	"github.com/google/uuid"

	"tracker/store/json"
	"tracker/store/transfer"
)

// run is a run read from a database or a file store.
type run struct {
	id         string
	experiment string // name of the experiment
	name       string
	status     string
	start, end any    // Unix milliseconds as stored; nil if not set
	deleted    bool   // whether the run or its experiment is deleted
	artifacts  string // URI of the artifacts
	// experimentDeleted reports whether the experiment is deleted in MLflow.
	experimentDeleted bool
	user              string // name of the user; "unknown" is ignored
	source            string // name of the program
	commit            string
	parent            string // id of the parent run
	tags              map[string]string
	params            map[string]string
	datasets          []transfer.Dataset
	path              string // location for messages about losses
}

// uuid returns the id of the run in tracker. If MLflow's run id is a UUID without dashes, as usual,
// uuid returns that UUID. Otherwise, it derives a UUID from the run id.
func (r *run) uuid() uuid.UUID { return runUUID(r.id) }

func runUUID(id string) uuid.UUID {
	if u, err := uuid.Parse(id); err == nil && len(id) == 32 {
		return u
	}
	return transfer.ID("mlflow", "run", id)
}

// fingerprint returns a hash of the run without its metrics and artifacts.
func (r *run) fingerprint() (string, error) {
	var end any
	if ms, ok := wholeOf(r.end); ok {
		end = ms
	}
	text, err := json.Marshal([]any{r.name, r.status, end, r.deleted, r.tags, r.params, r.datasets}, json.Deterministic(true), json.AllowInvalidUTF8(true))
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), err
}

var statuses = map[string]transfer.Status{
	"RUNNING": transfer.Running, "SCHEDULED": transfer.Running, "FINISHED": transfer.Succeeded, "FAILED": transfer.Failed, "KILLED": transfer.Killed,
}

// timeOf converts Unix milliseconds to a time. It returns false if ms is out of range.
func timeOf(ms int64) (transfer.Time, bool) {
	return transfer.Time(ms), ms >= 0 && ms < 253402300800000 // start of the year 10000
}

// begin returns a writer for the run without writing any data.
func (r *run) begin(im *transfer.Import, known bool) *transfer.RunWriter {
	status, ok := statuses[r.status]
	if !ok {
		status = transfer.Running
		im.Lose(r.path, "The status of the run, %q, is not one of MLflow's; it is RUNNING here.", r.status)
	}
	to := transfer.Run{ID: r.uuid(), Project: projectName, Experiment: r.experiment, Name: r.name, Notes: r.tags["mlflow.note.content"], Status: status,
		Deleted: r.deleted, ExperimentDeleted: r.experimentDeleted}
	if to.Name == "" {
		to.Name = r.tags["mlflow.runName"]
	}
	switch at, ok := timeAt(r.start); {
	case r.start == nil:
		im.Lose(r.path, "The run has no start time; it is shown as started in 1970.")
	case !ok:
		im.Lose(r.path, "The start of the run, %s, is not a valid time; it is shown as started in 1970.", shown(r.start))
	default:
		to.Created = at
	}
	if r.end != nil {
		ended, ok := timeAt(r.end)
		if !ok {
			im.Lose(r.path, "The end of the run, %s, is not a valid time; a run that has ended gets the time of its last point.", shown(r.end))
		} else if status != transfer.Running {
			to.Ended = &ended
		}
	}
	if r.parent != "" {
		to.Parent = new(runUUID(r.parent))
	}
	return im.Begin(to, r.path, known)
}

// describe adds all data of the run except metrics and artifacts to w.
func (r *run) describe(w *transfer.RunWriter) {
	for _, key := range sorted(r.params) {
		w.Parameter(key, r.params[key])
	}
	for _, key := range sorted(r.tags) {
		if !fieldTags[key] {
			w.Property(key, r.tags[key])
		}
	}
	if _, tagged := r.tags["mlflow.user"]; !tagged && r.user != "" && r.user != "unknown" {
		w.Property("mlflow.user", r.user)
	}
	for _, d := range r.datasets {
		w.Dataset(d)
	}
	if r.deleted {
		w.Tag("deleted in MLflow")
	}
	code := transfer.Code{
		GitSHA:     first(r.tags["mlflow.source.git.commit"], r.commit),
		GitRemote:  r.tags["mlflow.source.git.repoURL"],
		Entrypoint: first(r.tags["mlflow.source.name"], r.source),
	}
	if code != (transfer.Code{}) {
		w.Code(code)
	}
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// fieldTags lists the MLflow tags that tracker stores as fields of a run.
var fieldTags = map[string]bool{"mlflow.note.content": true, "mlflow.runName": true, "mlflow.parentRunId": true,
	"mlflow.source.git.commit": true, "mlflow.source.git.repoURL": true, "mlflow.source.name": true}

// infinity is the number that MLflow stores in a database instead of infinity.
const infinity = 1.7976931348623157e308

// valueOf returns the metric value that an MLflow database represents by x and isNaN.
func valueOf(x float64, isNaN bool) transfer.Value {
	switch {
	case isNaN:
		x = math.NaN()
	case x >= infinity:
		x = math.Inf(1)
	case x <= -infinity:
		x = math.Inf(-1)
	}
	return transfer.Value(x)
}

// parentsFirst sorts runs so that a parent comes before its children.
func parentsFirst(runs []*run) []*run {
	byID := map[string]*run{}
	for _, r := range runs {
		byID[r.id] = r
	}
	ordered := make([]*run, 0, len(runs))
	placed := map[string]bool{}
	for _, r := range runs {
		var chain []*run
		for at := r; at != nil && !placed[at.id]; at = byID[at.parent] {
			placed[at.id] = true // also ends the loop if parents form a cycle
			chain = append(chain, at)
		}
		slices.Reverse(chain)
		ordered = append(ordered, chain...)
	}
	return ordered
}

// leaveOut records that the run was deleted in tracker after an earlier import. If the run was also
// deleted in MLflow, it counts as unchanged.
func (r *run) leaveOut(im *transfer.Import) {
	if r.deleted {
		im.Unchanged(r.uuid())
		return
	}
	im.LeaveOut(r.uuid(), r.path, "The run was imported before and then deleted here; it is not imported again.")
}
