package cmd

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/users"
)

// result is the result of a run of the command line.
type result struct {
	code           int
	stdout, stderr string
}

// runMain calls Main in the working directory of the test.
func runMain(t *testing.T, env []string, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Main(t.Context(), args, env, strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// must checks that the run succeeded, and returns its output.
func (r result) must(t *testing.T) string {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("exit code %d\nstdout: %s\nstderr: %s", r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// refused checks that the run ended with code and a one-line error message that contains each of
// parts.
func (r result) refused(t *testing.T, code int, parts ...string) {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.stdout, r.stderr)
	}
	first, rest, _ := strings.Cut(r.stderr, "\n")
	if !strings.HasPrefix(first, "tracker: ") {
		t.Errorf("the error does not begin with the program's name: %q", r.stderr)
	}
	hint := code == 2 && strings.HasPrefix(rest, "See 'tracker") && strings.HasSuffix(rest, " --help'.\n")
	if rest != "" && !hint {
		t.Errorf("more than one sentence: %q", r.stderr)
	}
	for _, p := range parts {
		if !strings.Contains(first, p) {
			t.Errorf("%q does not say %q", first, p)
		}
	}
}

// seeded changes to a new working directory with a database whose admin has the password
// adminPassword.
func seeded(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	runMain(t, []string{"SERVICE_ADMIN_PASSWORD=" + adminPassword}, "", "seed").must(t)
	return dir
}

const adminPassword = "correct horse"

// openDB opens the database of the working directory.
func openDB(t *testing.T) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: "tracker.db"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestWrongUseIsCodeTwo(t *testing.T) {
	seeded(t)
	for _, args := range [][]string{
		{"srve"},
		{"serve", "now"},
		{"serve", "--prot", "9000"},
		{"user", "ad"},
		{"user", "add"},
		{"user", "add", "one", "two"},
		{"user", "set", "default"},
		{"user", "set", "default", "--admin=perhaps"},
		{"user", "delete", "default"},
		{"user", "list", "all"},
		{"reset-password", "one", "two"},
		{"token"},
		{"token", "--user", "default", "--expires", "tomorrow"},
		{"token", "--user", "default", "--expires", "-1h"},
		{"config", "all"},
		{"backup"},
		{"restore"},
		{"check", "tracker.db"},
		{"artifacts", "move"},
		{"artifacts", "migrate"},
		{"artifacts", "migrate", "--to", "tape"},
		{"artifacts", "migrate", "s3"},
		{"artifacts", "gc", "--older-than", "-1h"},
		{"artifacts", "gc", "--older-than", "yesterday"},
		{"artifacts", "usage", "all"},
		{"version", "1"},
		{"runs", "iris"},
		{"runs", "--limit", "0"},
		{"runs", "--url", "ftp://lab"},
		{"show"},
		{"show", "one", "two"},
		{"log"},
		{"compare", "one"},
		{"mcp", "now"},
		{"health", "--port", "0"},
		{"help", "srve"},
		{"help", "user", "ad"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			r := runMain(t, nil, "", args...)
			if r.code != 2 || !strings.HasPrefix(r.stderr, "tracker: ") || !strings.Contains(r.stderr, "--help'.\n") {
				t.Errorf("exit code %d, stderr %q; want 2 and a hint at --help", r.code, r.stderr)
			}
			if r.stdout != "" {
				t.Errorf("an error went to the standard output: %q", r.stdout)
			}
		})
	}
}

func TestWrongArgumentsAreCalledByTheirNames(t *testing.T) {
	seeded(t)
	runMain(t, nil, "", "backup").refused(t, 2, "FILE is missing: tracker backup FILE")
	runMain(t, nil, "", "user", "add").refused(t, 2, "NAME is missing: tracker user add NAME")
	runMain(t, nil, "", "user", "add", "ada", "king").refused(t, 2, `only one NAME is allowed; unexpected "king"`)
	for _, wrong := range []string{"d", "1.5d", "-7d", "7 d", "7days", "106752d", "106751d1000h", "week", ""} {
		runMain(t, nil, "", "artifacts", "gc", "--older-than", wrong).refused(t, 2, "like 90m, 12h or 7d")
	}
}

func TestUnknownCommandSuggestsANearOne(t *testing.T) {
	if r := runMain(t, nil, "", "srve"); !strings.Contains(r.stderr, "serve") {
		t.Errorf("no suggestion in %q", r.stderr)
	}
}

func TestHelp(t *testing.T) {
	t.Chdir(t.TempDir())
	commands := []string{"serve", "config", "health", "client", "client python", "version", "user", "user add", "user list", "user set", "user delete",
		"reset-password", "token", "seed", "backup", "restore", "check", "bench",
		"runs", "show", "log", "compare", "mcp", "run", "sync", "status", "login",
		"artifacts", "artifacts migrate", "artifacts gc", "artifacts usage"}
	for _, name := range commands {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{append(strings.Fields(name), "--help"), append([]string{"help"}, strings.Fields(name)...)} {
				text := runMain(t, nil, "", args...).must(t)
				if !strings.Contains(text, "Examples:\n  tracker ") && !strings.Contains(text, "Examples:\n  SERVICE_") {
					t.Errorf("%v shows no example that a person can follow:\n%s", args, text)
				}
			}
		})
	}
	text := runMain(t, nil, "").must(t)
	for _, name := range commands {
		if first, _, _ := strings.Cut(name, " "); !strings.Contains(text, "\n  "+first+" ") {
			t.Errorf("the help without a command does not list %s", first)
		}
	}
}

func TestClientPython(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "made", "dist")
	path := strings.TrimSpace(runMain(t, nil, "", "client", "python", "--out", folder).must(t))
	if body, err := os.ReadFile(path); err != nil || filepath.Dir(path) != folder || !strings.HasPrefix(string(body), "PK") {
		t.Errorf("%s is not a wheel in %s (%v)", path, folder, err)
	}
}

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if text := runMain(t, nil, "", args...).must(t); !strings.HasPrefix(text, "tracker "+Version()) {
			t.Errorf("%v prints %q", args, text)
		}
	}
}

func TestCompletion(t *testing.T) {
	dir := seeded(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if text := runMain(t, nil, "", "completion", shell).must(t); !strings.Contains(text, "tracker") {
			t.Errorf("no completion for %s", shell)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"user", "delete", ""}, users.DefaultUsername},
		{[]string{"user", "delete", "--db-file", filepath.Join(dir, "tracker.db"), ""}, users.DefaultUsername},
		{[]string{"token", "--user", ""}, users.DefaultUsername},
		{[]string{"serve", "--log-level", ""}, "debug"},
		{[]string{"serve", "--enable-auth="}, "true"},
	} {
		text := runMain(t, nil, "", append([]string{"__complete"}, c.args...)...).must(t)
		if first, _, _ := strings.Cut(text, "\n"); first != c.want {
			t.Errorf("completing %q gives %q, want %q first", c.args, text, c.want)
		}
	}
}

func TestMissingDatabaseIsNotMade(t *testing.T) {
	t.Chdir(t.TempDir())
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"user", "list"}, {"user", "add", "ada"}, {"user", "set", "ada", "--admin"}, {"user", "delete", "ada", "--yes"},
		{"reset-password"}, {"token", "--user", "ada", "--jwt-secret", strings.Repeat("s", 32)},
		{"backup", "copy.db"}, {"check"}, {"artifacts", "migrate", "--to", "filesystem"}, {"artifacts", "gc"}, {"artifacts", "usage"},
	} {
		runMain(t, nil, "a password\n", args...).
			refused(t, 1, filepath.Join(wd, "tracker.db"), "--db-file", "SERVICE_DB_FILE", "tracker seed")
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
		t.Errorf("something was made: %v, %v", entries, err)
	}
}

// An interrupt ends a command that waits for input.
func TestInterrupt(t *testing.T) {
	seeded(t)
	ctx, cancel := context.WithCancel(t.Context())
	stdin, hold := io.Pipe()
	defer hold.Close()
	reading := readSignal{stdin, make(chan struct{})}
	go func() {
		<-reading.begun
		cancel()
	}()
	var stdout, stderr bytes.Buffer
	code := Main(ctx, []string{"user", "add", "ada"}, nil, reading, &stdout, &stderr)
	result{code, stdout.String(), stderr.String()}.refused(t, 1, "interrupted")
}

// readSignal is a reader that signals the first read.
type readSignal struct {
	io.Reader
	begun chan struct{}
}

func (r readSignal) Read(p []byte) (int, error) {
	close(r.begun)
	return r.Reader.Read(p)
}
