package bench

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tracker/store/transfer"
	"tracker/store/transfer/tensorboard"
)

const (
	importTags    = 20   // metrics of a run
	importRuns    = 200  // runs that together have the points of the single large run
	idleFolders   = 1000 // folders that are followed
	mlflowRuns    = 1000
	mlflowPoints  = 500 // points of a run, in 10 metrics
	idleTime      = 20 * time.Second
	firstEvent    = 1_700_000_000_000
	importPause   = 20 * time.Millisecond
	tensorboardBy = 10 * time.Minute
)

// measureImport measures imports of event files, an import of an MLflow database, and following
// idle folders. If a Python with TensorBoard is available, imports of event files alternate with
// loading by TensorBoard.
func (b *benchmark) measureImport(ctx context.Context) error {
	if b.URL != "" {
		b.addUnknown("imports of files", "s")
		return nil
	}
	dir, err := os.MkdirTemp(b.extra, "import-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	points := 2 * b.Points
	for _, runs := range []int{1, importRuns} {
		logs := filepath.Join(dir, fmt.Sprintf("runs-%d", runs))
		if err := b.eventFiles(ctx, logs, runs, importTags, points/runs/importTags); err != nil {
			return err
		}
		what := fmt.Sprintf("%s points of %d event files", comma(points), runs)
		if runs == 1 {
			what = comma(points) + " points of one event file"
		}
		took, err := b.importOf(ctx, what, logs)
		if err != nil {
			return err
		}
		if err := b.besideTensorBoard(ctx, logs, runs, points/runs/importTags, took.wall.Seconds()); err != nil {
			return err
		}
	}
	if err := b.measureWide(ctx, dir, b.Points/2); err != nil {
		return err
	}
	if err := b.measureFollow(ctx, filepath.Join(dir, "idle")); err != nil {
		return err
	}
	db := filepath.Join(dir, "mlflow.db")
	if err := b.mlflowDatabase(ctx, db); err != nil {
		return err
	}
	_, err = b.importOf(ctx, fmt.Sprintf("MLflow's database with %s runs and %s points", comma(mlflowRuns), comma(mlflowRuns*mlflowPoints)), db)
	return err
}

// eventFiles writes the event files of runs, each with the given numbers of metrics and steps.
func (b *benchmark) eventFiles(ctx context.Context, dir string, runs, tags, steps int) error {
	b.progress("writing event files", runs)
	for run := range runs {
		folder := filepath.Join(dir, fmt.Sprintf("run-%04d", run))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(folder, fmt.Sprintf("events.out.tfevents.%d", run)))
		if err != nil {
			return err
		}
		out := bufio.NewWriterSize(f, 1<<20)
		w, err := tensorboard.NewWriter(out, transfer.Time(firstEvent+run))
		for step := 0; step < steps && err == nil; step++ {
			for tag := 0; tag < tags && err == nil; tag++ {
				err = w.Scalar(fmt.Sprintf("metric/%d", tag), transfer.Step(step), 1/float64(step+tag+1), transfer.Time(firstEvent+step*100))
			}
		}
		if err := errors.Join(err, out.Flush(), f.Close(), ctx.Err()); err != nil {
			return err
		}
		b.advance(1)
	}
	return nil
}

// importOf imports a source into a new database and adds rows with the import time, the time until
// the first points were stored, and the memory.
func (b *benchmark) importOf(ctx context.Context, what, source string) (took cost, err error) {
	b.progress("importing "+what, 1)
	dir, err := os.MkdirTemp(b.extra, "imported-")
	if err != nil {
		return took, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "tracker.db")
	c, begun, err := b.start(ctx, dir, "import", source, "--db-file", file, "--json")
	if err != nil {
		return took, err
	}
	first, peak := time.Duration(0), int64(0)
	process := &server{cmd: c.Cmd}
	for running := true; running; {
		select {
		case <-c.ended:
			running = false
		case <-time.After(importPause):
		}
		peak = max(peak, process.peakMemory())
		if first == 0 && hasPoints(ctx, file) {
			first = time.Since(begun)
		}
	}
	if c.err != nil {
		return took, fmt.Errorf("%w: %s", c.err, c.log)
	}
	took = cost{c.took, c.ProcessState.UserTime() + c.ProcessState.SystemTime()}
	b.addValue(what+", imported", "s", took.wall.Seconds())
	b.addValue("the first of them", "s", first.Seconds())
	b.addSystemValue("most memory during it", "MB", float64(peak)/1e6, peak > 0)
	return took, nil
}

// cost holds the elapsed time and the processor time of an import.
type cost struct{ wall, processor time.Duration }

// hasPoints reports whether a database has points.
func hasPoints(ctx context.Context, file string) bool {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(1000)")
	if err != nil {
		return false
	}
	defer db.Close()
	var one int
	return db.QueryRowContext(ctx, `SELECT 1 FROM metric_points LIMIT 1`).Scan(&one) == nil
}

// child is a started process.
type child struct {
	*exec.Cmd
	log   *tail
	took  time.Duration
	err   error
	ended chan struct{}
}

// start starts this program in a folder.
func (b *benchmark) start(ctx context.Context, dir string, args ...string) (*child, time.Time, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, time.Time{}, err
	}
	c := &child{Cmd: exec.CommandContext(ctx, program, args...), log: &tail{}, ended: make(chan struct{})}
	c.Dir, c.Stderr = dir, c.log
	c.Env = append(withoutSettings(os.Environ()), "SERVICE_ADMIN_PASSWORD=benchmark", "SERVICE_LOG_LEVEL=error")
	begun := time.Now()
	if err := c.Start(); err != nil {
		return nil, begun, err
	}
	go func() {
		c.err = c.Wait()
		c.took = time.Since(begun)
		close(c.ended)
	}()
	return c, begun, nil
}

// measureFollow measures the processor time of following folders that do not change.
func (b *benchmark) measureFollow(ctx context.Context, logs string) error {
	if err := b.eventFiles(ctx, logs, idleFolders, importTags, 5); err != nil {
		return err
	}
	b.progress("following idle folders", 1)
	dir, err := os.MkdirTemp(b.extra, "followed-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "tracker.db")
	c, _, err := b.start(ctx, dir, "follow", logs, "--db-file", file)
	if err != nil {
		return err
	}
	defer func() {
		_ = c.Process.Kill() // fails when it has ended
		<-c.ended
	}()
	for countRuns(ctx, file) < idleFolders {
		select {
		case <-c.ended:
			return fmt.Errorf("tracker follow has ended: %v, %s", c.err, c.log)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * importPause):
		}
	}
	process := &server{cmd: c.Cmd}
	if err := pause(ctx, 2*time.Second); err != nil { // the poll that has imported them ends
		return err
	}
	begun, before := time.Now(), process.cpuTime()
	if err := pause(ctx, idleTime); err != nil {
		return err
	}
	used := process.cpuTime() - before
	b.addSystemValue(fmt.Sprintf("%s idle folders followed: share of a core", comma(idleFolders)), "%", 100*used.Seconds()/time.Since(begun).Seconds(), before > 0)
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func countRuns(ctx context.Context, file string) (n int) {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(1000)")
	if err != nil {
		return 0
	}
	defer db.Close()
	if db.QueryRowContext(ctx, `SELECT count(*) FROM iteration`).Scan(&n) != nil {
		return 0
	}
	return n
}

// mlflowDatabase writes a database with the MLflow tables that the importer reads.
func (b *benchmark) mlflowDatabase(ctx context.Context, path string) (err error) {
	b.progress("writing a database of MLflow", mlflowRuns)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, `
		CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name TEXT, lifecycle_stage TEXT);
		CREATE TABLE runs (run_uuid TEXT PRIMARY KEY, name TEXT, status TEXT, start_time INTEGER, end_time INTEGER, lifecycle_stage TEXT,
			artifact_uri TEXT, source_name TEXT, source_version TEXT, experiment_id INTEGER);
		CREATE TABLE metrics (key TEXT NOT NULL, value REAL NOT NULL, timestamp INTEGER NOT NULL, run_uuid TEXT NOT NULL, step INTEGER NOT NULL,
			is_nan INTEGER NOT NULL, PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan));
		CREATE INDEX index_metrics_run_uuid ON metrics (run_uuid, key);
		CREATE TABLE params (key TEXT NOT NULL, value TEXT NOT NULL, run_uuid TEXT NOT NULL, PRIMARY KEY (key, run_uuid));
		CREATE TABLE tags (key TEXT NOT NULL, value TEXT, run_uuid TEXT NOT NULL, PRIMARY KEY (key, run_uuid));
		INSERT INTO experiments VALUES (1, 'sweep', 'active'); BEGIN`)
	for run := 0; run < mlflowRuns && err == nil; run++ {
		id := fmt.Sprintf("%032x", run+1)
		_, err = db.ExecContext(ctx, `INSERT INTO runs VALUES (?1, ?2, 'FINISHED', ?3, ?3 + 1000000, 'active', '', 'train.py', '', 1);
			WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?4)
				INSERT INTO metrics SELECT 'metric' || (i % 10), 1.0 / (i + 1), ?3 + i, ?1, i / 10, 0 FROM n;
			WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9) INSERT INTO params SELECT 'param' || i, i, ?1 FROM n;
			WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4) INSERT INTO tags SELECT 'tag' || i, i, ?1 FROM n`,
			id, fmt.Sprintf("run %d", run), firstEvent+run, mlflowPoints-1)
		b.advance(1)
	}
	if err == nil {
		_, err = db.ExecContext(ctx, `COMMIT`)
	}
	return err
}
