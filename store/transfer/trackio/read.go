package trackio

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"tracker/store/json"
	"tracker/store/transfer"
	"tracker/store/transfer/database"
	"tracker/store/wandb/format"
)

const (
	// maxRow is the maximum size of a row's JSON in bytes.
	maxRow = 16 << 20
	// maxRuns is the maximum number of runs in a project.
	maxRuns = 1_000_000
)

// run is a run in a Trackio project.
type run struct {
	id, name, config string
	path             string // location for messages about losses
	column           string // name of the database column that contains the id
}

// importProject imports the runs of the database at path.
func importProject(ctx context.Context, im *transfer.Import, path string) (err error) {
	db, end, err := database.Open(ctx, path, tables...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	runs, err := readRuns(ctx, db)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	for _, r := range runs {
		r.path = path + " run " + r.name
		if im.Wanted(r.name, nameOf(path)) {
			if err := r.importRun(ctx, im, db, path); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		im.Read(info.Size() / int64(len(runs)))
	}
	for table, what := range map[string]string{"traces": "traces", "alerts": "alerts", "artifact_versions": "versions of artifacts"} {
		var n int
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM `+table).Scan(&n); err == nil && n > 0 {
			im.Lose(path, "It has %d %s, which are not imported.", n, what)
		}
	}
	return nil
}

// text returns an SQL expression that converts a column to text of at most limit characters.
// The conversion is needed because the column can contain JSON as a BLOB.
func text(column string, limit int) string {
	return fmt.Sprintf(`coalesce(substr(CAST(%s AS TEXT), 1, %d), '')`, column, limit)
}

// readRuns returns the runs in the order of their first rows. In databases of old Trackio
// versions, the name of a run is its id.
func readRuns(ctx context.Context, db *sql.DB) (runs []*run, err error) {
	column := "run_id"
	var n int
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM pragma_table_info('metrics') WHERE name = 'run_id'`).Scan(&n)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		column = "run_name"
	}
	rows, err := db.QueryContext(ctx, `SELECT `+text("id", 1000)+`, `+text("max(name)", 10_000)+`, max(config) FROM (
			SELECT `+column+` AS id, run_name AS name, '' AS config, id AS at FROM metrics
			UNION ALL SELECT `+column+`, run_name, `+text("config", maxRow)+`, 0 FROM configs)
		GROUP BY id ORDER BY max(at) = 0, min(nullif(at, 0)), id LIMIT ?`, maxRuns)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r := &run{column: column}
		if err := rows.Scan(&r.id, &r.name, &r.config); err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, errors.Join(rows.Err(), rows.Close())
}

// uuid returns the id of the run in tracker. If Trackio's id is a UUID without dashes, uuid returns
// that UUID.
func (r *run) uuid(project string) uuid.UUID {
	if u, err := uuid.Parse(r.id); err == nil && len(r.id) == 32 {
		return u
	}
	return transfer.ID("trackio", "run", project, r.id)
}

// state is the stored state of a run. A later import continues from this state.
type state struct {
	System int64         `json:"system"` // id of the last imported row of system_metrics
	Rows   int64         `json:"rows"`   // number of imported rows of system_metrics
	Time   transfer.Time `json:"time"`
}

// importRun imports the new data and the media files of a run.
func (r *run) importRun(ctx context.Context, im *transfer.Import, db *sql.DB, path string) error {
	project := nameOf(path)
	id := r.uuid(project)
	file := transfer.ID("trackio", "file", id.String())
	known, err := im.Files(ctx, []uuid.UUID{file})
	if err != nil {
		return err
	}
	k, isKnown := known[file]
	if isKnown && k.RunID == uuid.Nil {
		im.LeaveOut(id, r.path, "The run was imported before and then deleted here; it is not imported again.")
		return nil
	}
	var s state
	if k.State != "" {
		if err := json.Unmarshal([]byte(k.State), &s); err != nil {
			return fmt.Errorf("the state of the source: %w", err)
		}
	}
	to := transfer.Run{ID: id, Project: projectName, Experiment: project, Name: r.name, Status: transfer.Running}
	members, problem := format.Members(r.config)
	if r.config == "" {
		members, problem = nil, nil
	}
	for _, m := range members {
		if m.Key == "_Created" {
			to.Created, _ = timeOf(strings.Trim(m.Value, `"`))
		}
	}
	if to.Created == 0 {
		var first string
		err := db.QueryRowContext(ctx, `SELECT `+text("min(timestamp)", 100)+` FROM metrics WHERE `+r.column+` = ?`, r.id).Scan(&first)
		if err != nil {
			return err
		}
		to.Created, _ = timeOf(first)
	}
	w := im.Begin(to, r.path, isKnown)
	if problem != nil {
		im.Lose(r.path, "Its configuration can't be read: %v.", problem)
	}
	sum := sha256.Sum256([]byte(r.config))
	fingerprint := hex.EncodeToString(sum[:8])
	mark := func(position int64) {
		text, err := json.Marshal(s)
		if err == nil { // encoding integers can't fail
			w.Mark(transfer.File{ID: file, Path: path, Fingerprint: fingerprint, Position: position, State: string(text)})
		}
	}
	isNew := !isKnown || k.Fingerprint != fingerprint
	if isNew {
		for _, m := range members {
			switch {
			case m.Key == "_Group" && m.Value != "null":
				w.Tag("group=" + strings.Trim(m.Value, `"`))
			case !format.Hidden(m.Key):
				format.Parameters(m.Key, m.Value, w.Parameter)
			}
		}
	}
	position, step := k.Position, s.Rows
	err = r.rows(ctx, db, "metrics", "CAST(step AS INTEGER)", k.Position, func(row int64, at transfer.Time, step sql.NullInt64, text string) error {
		r.add(im, w, row, "", transfer.Step(step.Int64), at, text)
		position, isNew = row, true
		if !w.Full() {
			return nil
		}
		mark(position)
		return w.Flush(ctx)
	})
	if err != nil {
		return err
	}
	// System metrics have no step. The import numbers their rows and uses the row number as the
	// step.
	err = r.rows(ctx, db, "system_metrics", "0", s.System, func(row int64, at transfer.Time, _ sql.NullInt64, text string) error {
		r.add(im, w, row, "system/", transfer.Step(step), at, text)
		step++
		s.System, s.Rows, isNew = row, step, true
		if !w.Full() {
			return nil
		}
		mark(position)
		return w.Flush(ctx)
	})
	if err != nil {
		return err
	}
	if isNew {
		mark(position)
		if err := w.End(ctx); err != nil {
			return err
		}
	}
	if name := filepath.Join(project, r.name); filepath.IsLocal(r.name) && r.name != "." {
		return w.Folder(ctx, filepath.Join(filepath.Dir(path), "media", name))
	}
	return nil
}

// rows calls fn for each row of the run in the given table whose id is greater than position. If
// the table does not exist, rows returns nil without calling fn.
func (r *run) rows(ctx context.Context, db *sql.DB, table, step string, position int64,
	fn func(row int64, at transfer.Time, step sql.NullInt64, text string) error) error {
	var there int
	err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?`, table).Scan(&there)
	if err != nil || there == 0 {
		return err
	}
	rows, err := db.QueryContext(ctx, `SELECT id, `+text("timestamp", 100)+`, `+step+`, `+text("metrics", maxRow+1)+`
		FROM `+table+` WHERE `+r.column+` = ? AND id > ? ORDER BY id`, r.id, position)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var row int64
		var when, metrics string
		var at sql.NullInt64
		if err := rows.Scan(&row, &when, &at, &metrics); err != nil {
			return err
		}
		t, _ := timeOf(when)
		if err := fn(row, t, at, metrics); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// add adds the numbers of a row as points, and its texts to the summary. Trackio stores NaN and
// infinities as JSON strings.
func (r *run) add(im *transfer.Import, w *transfer.RunWriter, row int64, prefix string, step transfer.Step, at transfer.Time, text string) {
	members, err := format.Members(text)
	if err != nil || len(text) > maxRow {
		im.Lose(r.path, "Row %d can't be read and was skipped.", row)
		return
	}
	for _, m := range members {
		format.Leaves(prefix+m.Key, m.Value, func(key string, _ []string, x transfer.Value) { w.Point(key, step, x, at) }, func(key, text string) {
			if x, ok := format.Number(strings.Trim(text, `"`)); ok && !x.Finite() {
				w.Point(key, step, x, at)
			} else if !w.Text(key, text) {
				im.Lose(r.path, "The values of %q are neither numbers nor short texts; of such values, only files are imported.", key)
			}
		})
	}
}

// timeOf parses a time in Python's ISO format. A time without a zone is in UTC.
func timeOf(text string) (transfer.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil && t.Year() >= 1970 && t.Year() < 10000 {
			return transfer.Time(t.UnixMilli()), true
		}
	}
	return 0, false
}
