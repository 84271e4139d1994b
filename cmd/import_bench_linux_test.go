package cmd

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tracker/store/transfer"
	"tracker/store/transfer/tensorboard"
)

const (
	importTags   = 20   // number of metrics of a run
	idleFolders  = 1000 // number of folders that BenchmarkFollow follows
	mlflowRuns   = 1000
	mlflowPoints = 500 // number of points of a run, in 10 metrics
	idleTime     = 20 * time.Second
	firstEvent   = 1_700_000_000_000
	importPause  = 20 * time.Millisecond
)

var importPoints = flag.Int("import-points", 2_000_000, "the `points` of the event files that BenchmarkImport imports; tables have a quarter")

// BenchmarkImport imports sources into new databases. The sources are event files, tables with few
// long series, tables with many short series, an event file with very many tags, and an MLflow
// database. If -import-python names a Python with TensorBoard, the benchmark also measures how long
// TensorBoard takes to load the event files. first-s is the time until the first points are stored,
// peak-MB the maximum memory, and cpu-s the processor time.
func BenchmarkImport(b *testing.B) {
	for _, runs := range []int{1, 200} {
		b.Run(fmt.Sprintf("event files/%d", runs), func(b *testing.B) {
			logs, steps := b.TempDir(), *importPoints/runs/importTags
			eventFiles(b, logs, runs, importTags, steps)
			took := importOf(b, logs)
			besideTensorBoard(b, logs, runs, steps, took.Seconds())
		})
	}
	for _, columns := range []int{5, 5000} {
		b.Run(fmt.Sprintf("table/%d columns", columns), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "wide.csv")
			if err := writeTable(path, columns, max(*importPoints/4/columns, 1)); err != nil {
				b.Fatal(err)
			}
			importOf(b, path)
		})
	}
	b.Run("200000 tags", func(b *testing.B) {
		logs := b.TempDir()
		eventFiles(b, logs, 1, 200_000, 1)
		importOf(b, logs)
	})
	b.Run("MLflow", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "mlflow.db")
		if err := mlflowDatabase(b.Context(), path); err != nil {
			b.Fatal(err)
		}
		importOf(b, path)
	})
}

// BenchmarkFollow follows folders that do not change for idleTime. core-% is the processor time.
func BenchmarkFollow(b *testing.B) {
	dir, logs := b.TempDir(), b.TempDir()
	eventFiles(b, logs, idleFolders, importTags, 5)
	file := filepath.Join(dir, "tracker.db")
	for b.Loop() {
		c := command(b, dir, []string{"SERVICE_ADMIN_PASSWORD=benchmark", "SERVICE_LOG_LEVEL=error"}, "follow", logs, "--db-file", file)
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		for countRuns(b.Context(), file) < idleFolders {
			select {
			case err := <-ended:
				b.Fatalf("tracker follow has ended: %v", err)
			case <-time.After(10 * importPause):
			}
		}
		time.Sleep(2 * time.Second) // let the poll that imported the points end
		begun, before := time.Now(), cpuTime(b, c.Process.Pid)
		time.Sleep(idleTime)
		b.ReportMetric(100*float64(cpuTime(b, c.Process.Pid)-before)/float64(time.Since(begun)), "core-%")
		_ = c.Process.Kill() // returns an error if the process has ended
		<-ended
	}
}

// cpuTime returns the processor time that a process has used.
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	const sched = 2 // CPUCLOCK_SCHED; the clock id is derived from the pid
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Nano())
}

// importOf imports a source into a new database, reports time, memory and processor time, and
// returns the time.
func importOf(b *testing.B, source string) (took time.Duration) {
	b.Helper()
	for b.Loop() {
		dir := b.TempDir()
		file := filepath.Join(dir, "tracker.db")
		c := command(b, dir, []string{"SERVICE_ADMIN_PASSWORD=benchmark", "SERVICE_LOG_LEVEL=error"}, "import", source, "--db-file", file, "--json")
		var errs bytes.Buffer
		c.Stderr = &errs
		begun := time.Now()
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			err := c.Wait()
			took = time.Since(begun)
			ended <- err
		}()
		first, peak := time.Duration(0), 0.0
		for running := true; running; {
			select {
			case err := <-ended:
				if running = false; err != nil {
					b.Fatalf("%v: %s", err, &errs)
				}
			case <-time.After(importPause):
				peak = max(peak, peakMB(c.Process.Pid))
			}
			if first == 0 && hasPoints(b.Context(), file) {
				first = time.Since(begun)
			}
		}
		b.ReportMetric(first.Seconds(), "first-s")
		b.ReportMetric(peak, "peak-MB")
		b.ReportMetric((c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), "cpu-s")
	}
	return took
}

// peakMB returns the maximum memory of a process so far; 0 if it has ended.
func peakMB(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	var kb float64
	_, rest, _ := bytes.Cut(text, []byte("VmHWM:"))
	_, _ = fmt.Sscan(string(rest), &kb) // /proc shows no memory for a process that is ending
	return kb * 1024 / 1e6
}

// writeTable writes a table with a step column and the given number of other columns.
func writeTable(path string, columns, rows int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	out.WriteString("step")
	for c := range columns {
		fmt.Fprintf(out, ",layer/%d/norm", c)
	}
	for r := range rows {
		out.WriteString("\n" + strconv.Itoa(r))
		for c := range columns {
			out.WriteString("," + strconv.FormatFloat(1/float64(1+r+7*c), 'g', 6, 64))
		}
	}
	out.WriteString("\n")
	return errors.Join(out.Flush(), f.Close())
}

// eventFiles writes the event files of runs, each with the given numbers of metrics and steps.
func eventFiles(b *testing.B, dir string, runs, tags, steps int) {
	b.Helper()
	for run := range runs {
		folder := filepath.Join(dir, fmt.Sprintf("run-%04d", run))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			b.Fatal(err)
		}
		f, err := os.Create(filepath.Join(folder, fmt.Sprintf("events.out.tfevents.%d", run)))
		if err != nil {
			b.Fatal(err)
		}
		out := bufio.NewWriterSize(f, 1<<20)
		w, err := tensorboard.NewWriter(out, transfer.Time(firstEvent+run))
		for step := 0; step < steps && err == nil; step++ {
			for tag := 0; tag < tags && err == nil; tag++ {
				err = w.Scalar(fmt.Sprintf("metric/%d", tag), transfer.Step(step), 1/float64(step+tag+1), transfer.Time(firstEvent+step*100))
			}
		}
		if err := errors.Join(err, out.Flush(), f.Close()); err != nil {
			b.Fatal(err)
		}
	}
}

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
func mlflowDatabase(ctx context.Context, path string) (err error) {
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
	}
	if err == nil {
		_, err = db.ExecContext(ctx, `COMMIT`)
	}
	return err
}
