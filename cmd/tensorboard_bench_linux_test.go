package cmd

import (
	"bytes"
	"flag"
	"fmt"
	"os/exec"
	"testing"
)

var importPython = flag.String("import-python", "", "`program` of a Python with tensorboard, which BenchmarkImport compares imports with")

// tensorboardProgram loads a folder as TensorBoard does, with the fast loader if it is installed,
// and ends after the last point of each run has been loaded.
const tensorboardProgram = `
import json, os, subprocess, sys, time, urllib.parse, urllib.request
logs, runs, last, tags, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
import socket
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
begun = time.monotonic()
p = subprocess.Popen([sys.executable, "-m", "tensorboard.main", "--logdir", logs, "--host", "127.0.0.1", "--port", str(port), "--reload_interval", "1"],
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    left = ["run-%04d" % i for i in range(runs)]
    while left:
        if time.monotonic() - begun > limit or p.poll() is not None:
            sys.exit("TensorBoard has not loaded the folder")
        query = urllib.parse.urlencode({"run": left[-1], "tag": "metric/%d" % (tags - 1)})
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d/data/plugin/scalars/scalars?%s" % (port, query), timeout=60) as a:
                points = json.load(a)
        except OSError:
            points = []
        if points and points[-1][1] == last:
            left.pop()
        else:
            time.sleep(0.05)
    print(time.monotonic() - begun)
finally:
    p.terminate()
    p.wait()
`

// besideTensorBoard reports the time that TensorBoard takes to load a folder, and the ratio of the
// import time to it.
func besideTensorBoard(b *testing.B, logs string, runs, steps int, seconds float64) {
	b.Helper()
	if *importPython == "" {
		return
	}
	c := exec.Command(*importPython, "-c", tensorboardProgram, logs, fmt.Sprint(runs), fmt.Sprint(steps-1), fmt.Sprint(importTags), "600")
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		b.Fatalf("TensorBoard: %v: %s", err, &errs)
	}
	var took float64
	if _, err := fmt.Sscan(string(out), &took); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(took, "tensorboard-s")
	b.ReportMetric(seconds/took, "of-tensorboard")
}
