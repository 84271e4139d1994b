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
	"tracker/store/transfer"
	"tracker/store/transfer/wire"
	"tracker/store/wandb/format"
)

// resting is the time since the last write to a log after which its run counts as killed if the log
// has no end.
const resting = 5 * time.Minute

// reader reads one log into a run.
type reader struct {
	log    logFile
	im     *transfer.Import
	w      *transfer.RunWriter
	source uuid.UUID
	id     uuid.UUID
	last   bool // the run was not resumed after this log
	state  state
}

// state is the stored state with which an import continues in the middle of a log.
type state struct {
	Step    int64             `json:"step"` // of the last row of the history
	Time    transfer.Time     `json:"time"` // likewise
	Keys    map[string]bool   `json:"keys,omitzero"`
	Summary map[string]string `json:"summary,omitzero"` // values without a metric of the same key
	Media   map[string]bool   `json:"media,omitzero"`   // keys of W&B objects that are stored in parts
	// Files lists the files of the logged artifacts.
	Files []artifactFile `json:"files,omitzero"`
	// Versions counts the logged versions of each artifact.
	Versions map[string]int `json:"versions,omitzero"`
}

const (
	// maxKeys bounds the metrics of a run, the values of its summary, and the values of a row.
	maxKeys = 100_000
	// maxKey bounds the name of a metric in bytes.
	maxKey = 4096
)

var errValues = fmt.Errorf("it has more than %d values", maxKeys)

// read adds the records of a log after its present position.
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
			r.im.Lose(r.log.path, "It was read up to byte %d: %v.", at, err)
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

// finish ends the run if the log has an end, or was not written to for a while.
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

// summary adds the values of the summary that are not metrics, as points at the last step.
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
		return // texts and numbers can't fail
	}
	f := transfer.File{ID: r.source, Path: r.log.path, Size: -1, Position: position, State: string(text)}
	if complete {
		f.Size = r.log.info.Size()
	}
	r.w.Mark(f)
}

// record adds the data of a record.
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
		}
		return nil
	})
}

// summaryItems keeps the numbers of a summary.
func (r *reader) summaryItems(data []byte) error {
	err := items(data, 1, r.noteMedia)
	if err != nil {
		return err
	}
	return items(data, 1, func(i item) {
		if format.Hidden(i.key) || r.ofMedia(i.key) {
			return
		}
		delete(r.state.Summary, i.key) // the former value is removed
		format.Leaves(i.key, strings.TrimSpace(i.json), func(key string, _ []string, x transfer.Value) {
			if len(key) <= maxKey && len(r.state.Summary) < maxKeys {
				r.state.Summary[key] = formatted(x)
			}
		}, r.loseValue)
	})
}

// formatted returns a number in Python's JSON format.
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

// noteMedia records the key of a W&B object if the item is the type of the object: newer clients
// write the members of an object as separate items.
func (r *reader) noteMedia(i item) {
	key, ok := strings.CutSuffix(i.key, "/_type")
	if !ok || r.ofMedia(key) || format.Hidden(key) {
		return
	}
	if len(r.state.Media) >= maxKeys || len(key) > maxKey {
		r.im.Lose(r.log.path, "It has more than %d metrics, or one whose name has more than %d bytes; these are left out.", maxKeys, maxKey)
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

// ofMedia reports whether a key, or one above it, belongs to a W&B object.
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
	r.im.Lose(r.log.path, "The values of %q are of W&B's kind %q; their files are imported, the values are not.", key, kind)
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
	if err == nil && (e.program != "" || e.commit != "" || e.python != "") { // other records describe only the machine
		r.w.Code(transfer.Code{GitSHA: e.commit, GitRemote: e.remote, Entrypoint: e.program,
			Command: strings.TrimSpace(e.program + " " + strings.Join(e.args, " ")), Hostname: e.host, Runtime: e.python})
	}
	return err
}

// parameter adds a value of the configuration.
func (r *reader) parameter(i item) {
	if !format.Hidden(i.key) {
		format.Parameters(i.key, i.json, r.w.Parameter)
	}
}

// history adds a row of the history.
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

// point adds a value of a row.
func (r *reader) point(key, text string, step int64, at transfer.Time) {
	format.Leaves(key, strings.TrimSpace(text), func(key string, _ []string, x transfer.Value) {
		if !r.state.Keys[key] && (len(r.state.Keys) >= maxKeys || len(key) > maxKey) {
			r.im.Lose(r.log.path, "It has more than %d metrics, or one whose name has more than %d bytes; these are left out.", maxKeys, maxKey)
			return
		}
		r.state.Keys[key] = true
		r.w.Point(key, transfer.Step(step), x, at)
	}, r.loseValue)
}

// loseValue reports a loss for a value that is not a number.
func (r *reader) loseValue(key, text string) {
	if kind := format.TypeOf(text); kind != "" {
		r.loseMedia(key, kind)
	} else if text != "null" {
		r.im.Lose(r.log.path, "The values of %q are not numbers and are not imported.", key)
	}
}

// exit sets the end of the run.
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
