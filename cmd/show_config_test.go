package cmd

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// shownConfig returns the value and the source of each setting that `tracker
// config` shows.
func shownConfig(t *testing.T, env []string, args ...string) map[string][2]string {
	t.Helper()
	r := runMain(t, env, "", append([]string{"config", "--json"}, args...)...)
	var list []struct{ Name, Value, Source string }
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil {
		t.Fatalf("%v in %q (stderr %q)", err, r.stdout, r.stderr)
	}
	shown := map[string][2]string{}
	for _, s := range list {
		shown[s.Name] = [2]string{s.Value, s.Source}
	}
	if len(shown) != len(settings) {
		t.Errorf("%d settings are shown, there are %d", len(shown), len(settings))
	}
	return shown
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var env []string
	var args []string
	for i, s := range settings {
		if s.secret() {
			env = append(env, s.name+"=hidden-env-"+strconv.Itoa(i))
			args = append(args, "--"+s.flag+"=hidden-flag-"+strconv.Itoa(i))
		}
	}
	if len(env) != 4 {
		t.Fatalf("there are %d secrets, want 4", len(env))
	}
	env = append(env, "SERVICE_PORT=x") // an invalid value, to get an error
	env = append(env, "SERVICE_S3_ENDPOINT=https://key:hidden/of?the@s3.example.com?X-Amz-Signature=hidden", "SERVICE_CORS_ORIGINS=https://user:hidden@lab.example")
	writeFile(t, "broken", "SERVICE_PORT=1\nSERVICE_JWT_SECRET=\"hidden-file\nSERVICE_HOST=::1\n")
	for _, args := range [][]string{
		{"config"}, {"config", "--json"}, {"serve", "--help"}, {"help", "serve"}, {"serve"},
		append([]string{"config"}, args...), append([]string{"serve", "--help"}, args...), append([]string{"serve"}, args...),
		{"config", "--env-file", "broken"}, {"seed", "--help"}, {"token", "--help"},
	} {
		if r := runMain(t, env, "", args...); strings.Contains(r.stdout+r.stderr, "hidden") {
			t.Errorf("%v prints a secret:\n%s%s", args, r.stdout, r.stderr)
		}
	}
}

func TestConfigTable(t *testing.T) {
	t.Chdir(t.TempDir())
	text := runMain(t, []string{"SERVICE_PORT=8000"}, "", "config", "--host", "::1").must(t)
	for _, want := range [][]string{
		{"SETTING", "VALUE", "SOURCE"}, {"SERVICE_PORT", "8000", "environment"}, {"SERVICE_HOST", "::1", "flag"},
		{"SERVICE_JWT_SECRET", "(none)", "default"},
	} {
		found := false
		for line := range strings.Lines(text) {
			found = found || reflect.DeepEqual(strings.Fields(line), want)
		}
		if !found {
			t.Errorf("no line %v in\n%s", want, text)
		}
	}
}
