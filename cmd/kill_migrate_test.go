//go:build unix

package cmd

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// A migration between two backends is killed at any moment, 25 times on one
// database, in a direction that changes. After each of them every artifact has
// exactly its bytes; what is left over is found, and removed by a collection.
func TestKillMigration(t *testing.T) {
	for _, pair := range [][2]string{{"inline", "filesystem"}, {"filesystem", "s3"}} {
		t.Run(pair[0]+" and "+pair[1], func(t *testing.T) {
			t.Parallel()
			const rounds = 25
			seed := *killSeed
			if seed == 0 {
				seed = rand.Uint64()
			}
			t.Logf("-kill-seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 7))
			dir := t.TempDir()
			env := append([]string{"SERVICE_LOG_LEVEL=warn", "SERVICE_ARTIFACT_BACKEND=" + pair[0]}, objectStore(t, dir)...)
			makeArtifacts(t, dir, env)
			killed, left := 0, 0
			var lasts time.Duration // of a migration that is left to its end
			to, all := 1, true
			for range rounds {
				if !all { // in one place
					to = random.IntN(2)
				}
				c := command(t, dir, env, "artifacts", "migrate", "--to", pair[to])
				var out bytes.Buffer
				c.Stdout, c.Stderr = &out, &out
				begun := time.Now()
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				if lasts > 0 {
					time.Sleep(time.Duration(random.Int64N(int64(lasts)))) // the random moment itself
					_ = c.Process.Kill()                                   // fails when it has ended
				}
				err := c.Wait()
				if c.ProcessState.ExitCode() > 0 {
					t.Fatalf("%v: %s", err, &out)
				}
				if all = err == nil; all {
					lasts, to = max(lasts, time.Since(begun)), 1-to
				} else {
					killed++
				}
				left += collectAfterKill(t, dir, env)
				if t.Failed() {
					t.FailNow()
				}
			}
			t.Logf("%d of %d killed, at most %v; %d things were left over", killed, rounds, lasts, left)
			runBinary(t, dir, env, "", "artifacts", "migrate", "--to", pair[1]).must(t)
			collectAfterKill(t, dir, env)
		})
	}
}

// makeArtifacts fills a new database with artifacts of many sizes, some of them
// with the same bytes.
func makeArtifacts(t *testing.T, dir string, env []string) {
	t.Helper()
	p := startServer(t, dir, env)
	defer p.stop()
	w := dial(t, p)
	experiment := w.create(t, "/experiment/project/"+w.create(t, "/project", `{"name": "p"}`), `{"name": "e"}`)
	for i := range 16 {
		content := bytes.Repeat(fmt.Appendf(nil, "content %d ", i%12), 1+i%12*20_000)
		upload(t, p, experiment, fmt.Sprint("artifact ", i), content)
	}
}

// collectAfterKill fails unless every artifact has its bytes, and a collection
// lists what is left over and removes all of it. It returns how much that was.
func collectAfterKill(t *testing.T, dir string, env []string) (left int) {
	t.Helper()
	if r := runBinary(t, dir, env, "", "check", "--deep"); r.code != 0 || r.stdout != "ok\n" {
		t.Errorf("check: %v", r)
	}
	listed := runBinary(t, dir, env, "", "artifacts", "gc", "--older-than", "0s").must(t)
	text := runBinary(t, dir, env, "", "artifacts", "gc", "--delete", "--older-than", "0s").must(t)
	if left = strings.Count(text, "  ("); left != strings.Count(listed, "  (") {
		t.Errorf("listed:\n%s\nremoved:\n%s", listed, text)
	}
	if text := runBinary(t, dir, env, "", "artifacts", "gc", "--older-than", "0s").must(t); text != "There is nothing to remove.\n" {
		t.Errorf("a collection leaves something: %s", text)
	}
	return left
}
