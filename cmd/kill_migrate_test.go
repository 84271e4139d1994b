//go:build unix

package cmd

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A migration between two backends is killed at random moments, 25 times on one database, in
// changing directions. After each kill, every artifact has exactly its bytes, and a garbage
// collection finds and removes the remains.
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
			makeArtifacts(t, dir, env, pair[1] == "s3")
			killed, left := 0, 0
			var lasts time.Duration // duration of an uninterrupted migration
			to, all := 1, true
			for range rounds {
				if !all { // the artifacts are in both backends, so any direction is possible
					to = random.IntN(2)
				}
				took, ended := killAtAnyMoment(t, command(t, dir, env, "artifacts", "migrate", "--to", pair[to]), random, lasts)
				if all = ended; all {
					lasts, to = max(lasts, took), 1-to
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
			wantCollected(t, dir, env)
		})
	}
}

// makeArtifacts fills a new database with artifacts of many sizes, some of them with equal bytes.
// If inParts is set, one artifact is large enough to be sent to an object store in parts.
func makeArtifacts(t *testing.T, dir string, env []string, inParts bool) {
	t.Helper()
	p := startServer(t, dir, env)
	defer p.stop()
	w := dial(t, p)
	experiment := w.create(t, "/experiment/project/"+w.create(t, "/project", `{"name": "p"}`), `{"name": "e"}`)
	for i := range 16 {
		content := bytes.Repeat(fmt.Appendf(nil, "content %d ", i%12), 1+i%12*20_000)
		upload(t, p, experiment, fmt.Sprint("artifact ", i), content)
	}
	if inParts {
		upload(t, p, experiment, "large", killContent(6))
	}
}

// collectAfterKill checks that every artifact has its bytes and that a garbage collection removes
// as many orphans as a check reports. It returns the number of orphans.
func collectAfterKill(t *testing.T, dir string, env []string) (left int) {
	t.Helper()
	waitForObjectStore(env)
	runBinary(t, dir, env, "", "trash", "empty").must(t)
	r := runBinary(t, dir, env, "", "check", "--deep")
	if r.code != 0 || r.stdout != "ok\n" {
		t.Errorf("check: %v", r)
	}
	told := 0
	for _, m := range regexp.MustCompile(`tracker: (\d+) orphans?`).FindAllStringSubmatch(r.stderr, -1) {
		n, _ := strconv.Atoi(m[1]) // digits
		told += n
	}
	text := runBinary(t, dir, env, "", "artifacts", "gc", "--delete", "--older-than", "0s").must(t)
	if left = strings.Count(text, "  ("); left != told {
		t.Errorf("told:\n%s\nremoved:\n%s", r.stderr, text)
	}
	return left
}

// wantCollected checks that a garbage collection finds nothing.
func wantCollected(t *testing.T, dir string, env []string) {
	t.Helper()
	if text := runBinary(t, dir, env, "", "artifacts", "gc", "--older-than", "0s").must(t); text != "There is nothing to remove.\n" {
		t.Errorf("a collection leaves something: %s", text)
	}
}
