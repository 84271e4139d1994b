package bench

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
)

// tensorboardProgram loads a folder as TensorBoard does, with the fast loader if it is installed,
// and ends when the last point of each run is loaded.
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

// besideTensorBoard adds a row with the time that TensorBoard takes to load a folder, and a row
// with the ratio of the import time to it.
func (b *benchmark) besideTensorBoard(ctx context.Context, logs string, runs, steps int, seconds float64) error {
	const what = "the same, loaded by TensorBoard"
	unknown := func(why string) {
		b.rows = append(b.rows, Row{Part: b.part, What: what, Unit: "s", Unknown: why})
	}
	python := b.Python
	if python == "" {
		found, err := exec.LookPath("python3")
		if err != nil {
			unknown("there is no Python; name one with --python")
			return nil
		}
		python = found
	}
	if err := exec.CommandContext(ctx, python, "-c", "import tensorboard").Run(); err != nil {
		if b.Python != "" {
			return fmt.Errorf("%s has no tensorboard: %w", python, err)
		}
		unknown("python3 has no tensorboard; name a Python with --python")
		return nil
	}
	b.progress("loading with TensorBoard", 1)
	c := exec.CommandContext(ctx, python, "-c", tensorboardProgram, logs, fmt.Sprint(runs), fmt.Sprint(steps-1), fmt.Sprint(importTags), fmt.Sprint(tensorboardBy.Seconds()))
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("TensorBoard: %w: %s", err, &errs)
	}
	var took float64
	if _, err := fmt.Sscan(string(out), &took); err != nil {
		return err
	}
	b.addValue(what, "s", took)
	b.addValue("ratio of the import to it", "", seconds/took)
	return nil
}
