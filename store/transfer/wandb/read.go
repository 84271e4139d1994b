package wandb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"

	"tracker/store/json"
	"tracker/store/scalar"
	"tracker/store/transfer"
	"tracker/store/transfer/wire"
	"tracker/store/wandb/format"
)

// resting is the minimum time since the last write for the run of an unfinished log to count as
// killed.
const resting = 5 * time.Minute

// reader imports one log into a run.
type reader struct {
	log    logFile
	im     *transfer.Import
	w      *transfer.RunWriter
	source uuid.UUID
	id     uuid.UUID
	last   bool // whether the log is the run's last log
	state  state
}

// state is the stored state of a partly read log. A later import continues from this state.
type state struct {
	Step    int64             `json:"step"` // step of the last history row
	Time    transfer.Time     `json:"time"` // time of the last history row
	Keys    map[string]bool   `json:"keys,omitzero"`
	Summary map[string]string `json:"summary,omitzero"` // numbers of the summary, by key
	Media   map[string]bool   `json:"media,omitzero"`   // keys of W&B objects whose parts are separate items
	// Files lists the files of all logged artifacts.
	Files []artifactFile `json:"files,omitzero"`
	// Versions maps artifact names to the number of logged versions.
	Versions map[string]int `json:"versions,omitzero"`
}

const (
	// maxKeys is the maximum number of metrics of a run, of values in its summary, and of
	// values in a row.
	maxKeys = 100_000
	// maxKey is the maximum length of a metric name in bytes.
	maxKey = 4096
)

var errValues = fmt.Errorf("it has more than %d values", maxKeys)

// read imports the log's records after records.pos.
func (r *reader) read(ctx context.Context, records *log) error {
	if r.state.Keys == nil {
		r.state.Keys, r.state.Summary = map[string]bool{}, map[string]string{}
	}
	if r.state.Summary == nil {
		r.state.Summary = map[string]string{}
	}
	for {
		at := records.pos
		data, err := records.next()
		switch {
		case errors.Is(err, errHalf):
			return r.finish(ctx, records.pos)
		case errors.Is(err, errDamaged), errors.Is(err, errPart):
			r.im.Lose(r.log.path, "Data at byte %d was skipped: %v.", at, err)
			continue
		case err != nil:
			r.im.Lose(r.log.path, "It was read only up to byte %d: %v.", at, err)
			return r.finish(ctx, at)
		}
		if err := r.record(data); err != nil {
			r.im.Lose(r.log.path, "The record at byte %d was skipped: %v.", at, err)
		}
		if r.w.Full() {
			r.mark(records.pos, false)
			if err := r.w.Flush(ctx); err != nil {
				return err
			}
		}
	}
}

// finish marks the log as read up to position. It sets the run's status to killed if the log has no
// exit record and was not written recently.
func (r *reader) finish(ctx context.Context, position int64) error {
	run := r.w.Run()
	if run.Status == transfer.Running && time.Since(r.log.info.ModTime()) > resting {
		run.Status = transfer.Killed
		if r.state.Time > 0 {
			run.Ended = new(r.state.Time)
		}
	}
	if run.Status != transfer.Running {
		r.summary()
	}
	if !r.last {
		run.Status, run.Ended, run.Error = transfer.Running, nil, ""
	}
	r.mark(position, true)
	return r.w.End(ctx)
}

// summary adds points for the values of the summary that were not logged as metrics. The points
// get the step and time of the last history row.
func (r *reader) summary() {
	for _, key := range slices.Sorted(maps.Keys(r.state.Summary)) {
		if x, ok := format.Number(r.state.Summary[key]); ok && !r.state.Keys[key] {
			r.state.Keys[key] = true
			r.w.Point(key, transfer.Step(r.state.Step), x, max(r.state.Time, r.w.Run().Created))
		}
	}
}

func (r *reader) mark(position int64, complete bool) {
	text, err := json.Marshal(r.state, json.Deterministic(true), json.AllowInvalidUTF8(true))
	if err != nil {
		return // encoding strings and numbers can't fail
	}
	f := transfer.File{ID: r.source, Path: r.log.path, Size: -1, Position: position, State: string(text)}
	if complete {
		f.Size = r.log.info.Size()
	}
	r.w.Mark(f)
}

// record imports the data of a record.
func (r *reader) record(data []byte) error {
	return wire.Fields(data, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
		switch n {
		case recordHistory:
			return r.history(data)
		case recordSummary:
			return r.summaryItems(data)
		case recordConfig:
			return items(data, 1, r.parameter)
		case recordRun:
			return r.run(data)
		case recordExit:
			return r.exit(data)
		case recordEnvironment:
			return r.environment(data)
		case recordArtifact:
			return r.artifact(data)
		case recordMetric:
			return r.metric(data)
		}
		return nil
	})
}

// metric adds the definition of a metric.
func (r *reader) metric(data []byte) error {
	m, err := parseMetric(data)
	if err != nil || m.pattern == "" || strings.HasPrefix(m.pattern, "_") || m == (metricRecord{pattern: m.pattern}) {
		return err
	}
	text, err := json.Marshal(m)
	if err == nil && len(m.pattern) <= maxKey {
		r.w.Property(scalar.DefinitionPrefix+m.pattern, string(text))
	}
	return err
}

// summaryItems stores the numbers of a summary record in r.state.Summary. It adds the texts.
func (r *reader) summaryItems(data []byte) error {
	err := items(data, 1, r.noteMedia)
	if err != nil {
		return err
	}
	return items(data, 1, func(i item) {
		if format.Hidden(i.key) || r.ofMedia(i.key) {
			return
		}
		delete(r.state.Summary, i.key) // the new value replaces the old value
		format.SummaryLeaves(i.key, strings.TrimSpace(i.json), func(key string, _ []string, x transfer.Value) {
			if len(key) <= maxKey && len(r.state.Summary) < maxKeys {
				r.state.Summary[key] = formatted(x)
			}
		}, r.text)
	})
}

// formatted formats a number as Python does in JSON.
func formatted(x transfer.Value) string {
	switch f := float64(x); {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.TrimSuffix(strconv.FormatFloat(f, 'g', -1, 64)[:1], "+") + "Infinity"
	default:
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
}

// noteMedia records the key of a W&B object in r.state.Media if i holds the type of the object. New
// W&B clients write the parts of an object as separate items.
func (r *reader) noteMedia(i item) {
	key, ok := strings.CutSuffix(i.key, "/_type")
	if !ok || r.ofMedia(key) || format.Hidden(key) {
		return
	}
	if len(r.state.Media) >= maxKeys || len(key) > maxKey {
		r.im.Lose(r.log.path, "The run has more than %d metrics, or metric names with more than %d bytes; the excess metrics are left out.", maxKeys, maxKey)
		return
	}
	if r.state.Media == nil {
		r.state.Media = map[string]bool{}
	}
	r.state.Media[key] = true
	for known := range r.state.Summary {
		if strings.HasPrefix(known, key+"/") {
			delete(r.state.Summary, known)
		}
	}
	r.loseMedia(key, strings.Trim(i.json, `"`))
}

// ofMedia reports whether key names a W&B object or a part of a W&B object.
func (r *reader) ofMedia(key string) bool {
	if len(r.state.Media) == 0 {
		return false
	}
	for at := 0; ; at++ {
		next := strings.IndexByte(key[at:], '/')
		if next < 0 {
			return r.state.Media[key]
		}
		if at += next; r.state.Media[key[:at]] {
			return true
		}
	}
}

func (r *reader) loseMedia(key, kind string) {
	r.im.Lose(r.log.path, "The values of %q have W&B's type %q; their files are imported, but the values are not.", key, kind)
}

func (r *reader) run(data []byte) error {
	about, err := parseRun(data)
	if err != nil {
		return err
	}
	for _, i := range about.config {
		r.parameter(i)
	}
	for _, t := range about.tags {
		r.w.Tag(t)
	}
	if about.group != "" {
		r.w.Tag("group=" + about.group)
	}
	if about.jobType != "" {
		r.w.Tag("job_type=" + about.jobType)
	}
	if about.commit != "" || about.remote != "" {
		r.w.Code(transfer.Code{GitSHA: about.commit, GitRemote: about.remote, Hostname: about.host})
	}
	return nil
}

func (r *reader) environment(data []byte) error {
	e, err := parseEnvironment(data)
	if err == nil && (e.program != "" || e.commit != "" || e.python != "") { // some records describe only the machine
		r.w.Code(transfer.Code{GitSHA: e.commit, GitRemote: e.remote, Entrypoint: e.program,
			Command: strings.TrimSpace(e.program + " " + strings.Join(e.args, " ")), Hostname: e.host, Runtime: e.python})
	}
	return err
}

// parameter imports a value of the configuration as a parameter.
func (r *reader) parameter(i item) {
	if !format.Hidden(i.key) {
		format.Parameters(i.key, i.json, r.w.Parameter)
	}
}

// history imports a row of the history as points.
func (r *reader) history(data []byte) error {
	var row []item
	step, hasStep := int64(0), false
	at := r.state.Time
	err := wire.Fields(data, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
		switch n {
		case 1:
			i, err := parseItem(data)
			if err != nil {
				return err
			}
			switch i.key {
			case "_step":
				if n, err := strconv.ParseInt(i.json, 10, 64); err == nil {
					step, hasStep = n, true
				}
			case "_timestamp":
				if t := format.Time(i.json); t > 0 {
					at = t
				}
			default:
				if row = append(row, i); len(row) > maxKeys {
					return errValues
				}
			}
		case 2:
			return wire.Fields(data, func(n protowire.Number, _ protowire.Type, number uint64, _ []byte) error {
				if n == 1 && !hasStep {
					step, hasStep = int64(number), true
				}
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !hasStep && r.state.Step < math.MaxInt64 && len(r.state.Keys) > 0 {
		step = r.state.Step + 1
	}
	if at == 0 {
		at = r.w.Run().Created
	}
	r.state.Step, r.state.Time = step, at
	for _, i := range row {
		r.noteMedia(i)
	}
	for _, i := range row {
		if !format.Hidden(i.key) && !r.ofMedia(i.key) {
			r.point(i.key, i.json, step, at)
		}
	}
	return nil
}

// point adds the points of one item of a history row. A nested value has several points.
func (r *reader) point(key, text string, step int64, at transfer.Time) {
	format.Leaves(key, strings.TrimSpace(text), func(key string, _ []string, x transfer.Value) {
		if !r.state.Keys[key] && (len(r.state.Keys) >= maxKeys || len(key) > maxKey) {
			r.im.Lose(r.log.path, "The run has more than %d metrics, or metric names with more than %d bytes; the excess metrics are left out.", maxKeys, maxKey)
			return
		}
		r.state.Keys[key] = true
		r.w.Point(key, transfer.Step(step), x, at)
	}, r.text)
}

// text adds a text of the summary. It records a value that is not a text as a loss.
func (r *reader) text(key, value string) {
	if len(key) > maxKey || !r.w.Text(key, value) {
		r.loseValue(key, value)
	}
}

// loseValue records a value that is not a number as a loss.
func (r *reader) loseValue(key, text string) {
	if kind := format.TypeOf(text); kind != "" {
		r.loseMedia(key, kind)
	} else if text != "null" {
		r.im.Lose(r.log.path, "The values of %q are neither numbers nor short texts and are not imported.", key)
	}
}

// exit sets the status and the end time of the run.
func (r *reader) exit(data []byte) error {
	var code, seconds int64
	err := wire.Fields(data, func(n protowire.Number, _ protowire.Type, number uint64, _ []byte) error {
		switch n {
		case 1:
			code = int64(int32(number))
		case 2:
			seconds = int64(int32(number))
		}
		return nil
	})
	run := r.w.Run()
	run.Status = transfer.Succeeded
	if code != 0 {
		run.Status, run.Error = transfer.Failed, "exit code "+strconv.FormatInt(code, 10)
	}
	ended := max(run.Created+transfer.Time(max(seconds, 0)*1000), r.state.Time)
	run.Ended = &ended
	return err
}
