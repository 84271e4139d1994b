package cmd

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agnivade/levenshtein"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPrecedence(t *testing.T) {
	const file, env, flag = "SERVICE_PORT=8001\n", "SERVICE_PORT=8002", "--port=8003"
	for _, c := range []struct {
		name        string
		file        string // content of the .env file in the working directory
		other       string // content of the file that --env-file names
		env         []string
		args        []string
		value, from string
	}{
		{name: "nobody says anything", value: "9000", from: "default"},
		{name: "file", file: file, value: "8001", from: "file"},
		{name: "environment", env: []string{env}, value: "8002", from: "environment"},
		{name: "flag", args: []string{flag}, value: "8003", from: "flag"},
		{name: "environment over file", file: file, env: []string{env}, value: "8002", from: "environment"},
		{name: "flag over file", file: file, args: []string{flag}, value: "8003", from: "flag"},
		{name: "flag over all", file: file, env: []string{env}, args: []string{flag}, value: "8003", from: "flag"},
		{name: "flag with the default's value", env: []string{env}, args: []string{"--port=9000"}, value: "9000", from: "flag"},
		{name: "an empty variable is not set", file: file, env: []string{"SERVICE_PORT="}, value: "8001", from: "file"},
		{name: "an empty line is not set", file: "SERVICE_PORT=\n", value: "9000", from: "default"},
		{name: "an empty flag takes back what others say", file: file, env: []string{env}, args: []string{"--port="}, value: "9000", from: "default"},
		{name: "another file in the place of .env", file: file, other: "SERVICE_PORT=8004\n", value: "8004", from: "file"},
		{name: "another file without it", file: file, other: "SERVICE_HOST=::1\n", value: "9000", from: "default"},
		{name: "environment over another file", other: file, env: []string{env}, value: "8002", from: "environment"},
		{name: "forms of a file", file: "\ufeff# ports\r\nexport SERVICE_PORT = \"8001\" # mine\r\n", value: "8001", from: "file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if c.file != "" {
				writeFile(t, ".env", c.file)
			}
			args := c.args
			if c.other != "" {
				writeFile(t, "other", c.other)
				args = append(args, "--env-file", "other")
			}
			got := shownConfig(t, c.env, args...)["SERVICE_PORT"]
			if want := [2]string{c.value, c.from}; got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// Every setting can be given as a flag, in the environment and in a file.
func TestEverySettingHasThreeSources(t *testing.T) {
	t.Chdir(t.TempDir())
	good := map[string]string{
		"SERVICE_HOST": "0.0.0.0", "SERVICE_PORT": "1", "SERVICE_ENABLE_UI": "true", "SERVICE_UI_HOST": "lab.local",
		"SERVICE_UI_PORT": "2", "SERVICE_BASE_PATH": "/a/b", "SERVICE_PUBLIC_URL": "https://lab.example/a/b", "SERVICE_DB_FILE": "x.db", "SERVICE_ENABLE_AUTH": "true",
		"SERVICE_JWT_SECRET": strings.Repeat("k", 32), "SERVICE_ADMIN_PASSWORD": "long enough",
		"SERVICE_CORS_ORIGINS": "https://a.example", "SERVICE_TRUSTED_HOSTS": "hub.example", "SERVICE_TRUSTED_PROXIES": "10.0.0.0/8",
		"SERVICE_ARTIFACT_BACKEND": "s3", "SERVICE_ARTIFACT_ROOT": "files",
		"SERVICE_S3_BUCKET": "b", "SERVICE_S3_PREFIX": "p/", "SERVICE_S3_ENDPOINT": "https://s3.example", "SERVICE_S3_REGION": "eu",
		"SERVICE_S3_ACCESS_KEY": "ak", "SERVICE_S3_SECRET_KEY": "sk", "SERVICE_MAX_UPLOAD": "1G", "SERVICE_TRASH_DAYS": "7", "SERVICE_AUDIT_DAYS": "90", "SERVICE_IDLE_EXIT": "30m",
		"SERVICE_MLFLOW_PROJECT": "team", "SERVICE_LOGDIR": "runs",
		"SERVICE_BACKUP_DIR": "copies", "SERVICE_BACKUP_INTERVAL": "6h", "SERVICE_BACKUP_KEEP": "30",
		"SERVICE_LOG_LEVEL": "debug", "SERVICE_LOG_FORMAT": "json",
	}
	var env, args []string
	var file strings.Builder
	for _, s := range settings {
		text, ok := good[s.name]
		if !ok {
			t.Fatalf("%s is not in this test", s.name)
		}
		env = append(env, s.name+"="+text)
		args = append(args, "--"+s.flag+"="+text)
		file.WriteString(s.name + "='" + text + "'\n")
	}
	writeFile(t, "all", file.String())
	for source, shown := range map[string]map[string][2]string{
		"environment": shownConfig(t, env),
		"flag":        shownConfig(t, nil, args...),
		"file":        shownConfig(t, nil, "--env-file", "all"),
	} {
		for _, s := range settings {
			want := good[s.name]
			if s.secret() {
				want = "********"
			}
			if got := shown[s.name]; got != [2]string{want, source} {
				t.Errorf("%s is %v, want %q from %s", s.name, got, want, source)
			}
		}
	}
}

func TestConfigValues(t *testing.T) {
	values := func(name, text string) []value {
		var all []value
		for _, s := range settings {
			v := value{s, s.fallback, "default"}
			if s.name == name {
				v.text, v.source = text, "environment"
			}
			all = append(all, v)
		}
		return all
	}
	for _, c := range []struct {
		name, text, field string
		want              any
	}{
		{"SERVICE_HOST", "[::1]", "Host", host("::1")},
		{"SERVICE_HOST", "fe80::1%eth0", "Host", host("fe80::1%eth0")},
		{"SERVICE_PORT", "0", "Port", port(0)},
		{"SERVICE_PORT", "65535", "Port", port(65535)},
		{"SERVICE_ENABLE_UI", "0", "EnableUI", false},
		{"SERVICE_ENABLE_AUTH", "False", "EnableAuth", false},
		{"SERVICE_BASE_PATH", "/", "BasePath", basePath("")},
		{"SERVICE_BASE_PATH", "/a-b/c.d_e~f", "BasePath", basePath("/a-b/c.d_e~f")},
		{"SERVICE_PUBLIC_URL", "https://Lab.example:443/tracker/", "PublicURL", publicURL("https://lab.example/tracker")},
		{"SERVICE_PUBLIC_URL", "https://lab.example/tracker", "BasePath", basePath("/tracker")},
		{"SERVICE_PUBLIC_URL", "http://lab.example:8080", "PublicURL", publicURL("http://lab.example:8080")},
		{"SERVICE_PUBLIC_URL", "http://lab.example:8080/", "BasePath", basePath("")},
		{"SERVICE_CORS_ORIGINS", "https://A.example:443, http://b:80 ,http://10.0.0.7:3000,http://[::1]:5", "CORSOrigins",
			origins{"https://a.example", "http://b", "http://10.0.0.7:3000", "http://[::1]:5"}},
		{"SERVICE_TRUSTED_HOSTS", "Hub.example.com:443, .lab.example ,[::1]:9000,10.0.0.7", "TrustedHosts",
			hostNames{"hub.example.com", ".lab.example", "::1", "10.0.0.7"}},
		{"SERVICE_TRUSTED_PROXIES", "127.0.0.1, 10.1.2.3/8 ,::1,2001:db8::/32", "TrustedProxies",
			networks{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("2001:db8::/32")}},
		{"SERVICE_S3_ENDPOINT", "http://10.0.0.7:9002/", "S3Endpoint", webAddress("http://10.0.0.7:9002")},
		{"SERVICE_BACKUP_INTERVAL", "1d12h", "BackupInterval", interval(36 * time.Hour)},
		{"SERVICE_BACKUP_KEEP", "1000", "BackupKeep", copies(1000)},
		{"SERVICE_TRASH_DAYS", "0", "TrashDays", days(0)},
		{"SERVICE_AUDIT_DAYS", "0", "AuditDays", auditDays(0)},
		{"SERVICE_AUDIT_DAYS", "30", "AuditDays", auditDays(30)},
		{"SERVICE_MAX_UPLOAD", "1500", "MaxUpload", byteSize(1500)},
		{"SERVICE_IDLE_EXIT", "0", "IdleExit", duration(0)},
		{"SERVICE_IDLE_EXIT", "1d12h", "IdleExit", duration(36 * time.Hour)},
		{"SERVICE_MAX_UPLOAD", "2k", "MaxUpload", byteSize(2048)},
		{"SERVICE_MAX_UPLOAD", "3M", "MaxUpload", byteSize(3 << 20)},
		{"SERVICE_MAX_UPLOAD", "8589934591G", "MaxUpload", byteSize(8589934591 << 30)},
	} {
		t.Run(c.name+"="+c.text, func(t *testing.T) {
			cfg, wrong := parse(values(c.name, c.text))
			if len(wrong) > 0 {
				t.Fatal(wrong)
			}
			if got := reflect.ValueOf(cfg).FieldByName(c.field).Interface(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %#v, want %#v", got, c.want)
			}
		})
	}
}

// Each row holds invalid settings and the setting with which the error message begins.
var badSettings = []struct {
	env     []string
	setting string
	says    string
}{
	{[]string{"SERVICE_HOST=127.0.0.1:9000"}, "SERVICE_HOST", "without a port"},
	{[]string{"SERVICE_HOST=http://here"}, "SERVICE_HOST", "host name"},
	{[]string{"SERVICE_HOST=a b"}, "SERVICE_HOST", `not "a b"`},
	{[]string{"SERVICE_PORT=65536"}, "SERVICE_PORT", `from 0 to 65535, not "65536" (from the environment)`},
	{[]string{"SERVICE_PORT=-1"}, "SERVICE_PORT", "0 to 65535"},
	{[]string{"SERVICE_PORT=http"}, "SERVICE_PORT", "0 to 65535"},
	{[]string{"SERVICE_ENABLE_UI=maybe"}, "SERVICE_ENABLE_UI", "true or false"},
	{[]string{"SERVICE_UI_HOST=*"}, "SERVICE_UI_HOST", "host name"},
	{[]string{"SERVICE_UI_PORT=90000"}, "SERVICE_UI_PORT", "0 to 65535"},
	{[]string{"SERVICE_UI_PORT=9000"}, "SERVICE_UI_PORT", "SERVICE_PORT"},
	{[]string{"SERVICE_BASE_PATH=tracker"}, "SERVICE_BASE_PATH", "slash"},
	{[]string{"SERVICE_BASE_PATH=/tracker/"}, "SERVICE_BASE_PATH", "none at the end"},
	{[]string{"SERVICE_BASE_PATH=//evil.example"}, "SERVICE_BASE_PATH", "slash"},
	{[]string{"SERVICE_BASE_PATH=/a/../b"}, "SERVICE_BASE_PATH", "slash"},
	{[]string{"SERVICE_BASE_PATH=/a?b"}, "SERVICE_BASE_PATH", "letters"},
	{[]string{"SERVICE_PUBLIC_URL=lab.example/tracker"}, "SERVICE_PUBLIC_URL", "like https://"},
	{[]string{"SERVICE_PUBLIC_URL=https://lab.example/a//b"}, "SERVICE_PUBLIC_URL", "letters"},
	{[]string{"SERVICE_PUBLIC_URL=https://u:p@lab.example/"}, "SERVICE_PUBLIC_URL", "like https://"},
	{[]string{"SERVICE_PUBLIC_URL=https://lab.example/?a=b"}, "SERVICE_PUBLIC_URL", "like https://"},
	{[]string{"SERVICE_PUBLIC_URL=ftp://lab.example"}, "SERVICE_PUBLIC_URL", "like https://"},
	{[]string{"SERVICE_PUBLIC_URL=https://lab.example/a", "SERVICE_BASE_PATH=/b"}, "SERVICE_BASE_PATH", `must be "/a"`},
	{[]string{"SERVICE_PUBLIC_URL=https://lab.example", "SERVICE_BASE_PATH=/b"}, "SERVICE_BASE_PATH", `must be "/"`},
	{[]string{"SERVICE_PUBLIC_URL=https://lab.example", "SERVICE_ENABLE_UI=false"}, "SERVICE_PUBLIC_URL", "SERVICE_ENABLE_UI"},
	{[]string{"SERVICE_ENABLE_AUTH=on"}, "SERVICE_ENABLE_AUTH", "true or false"},
	{[]string{"SERVICE_ENABLE_AUTH=true"}, "SERVICE_JWT_SECRET", "openssl rand -hex 32"},
	{[]string{"SERVICE_ENABLE_AUTH=true", "SERVICE_JWT_SECRET=change-me"}, "SERVICE_JWT_SECRET", "openssl rand -hex 32"},
	{[]string{"SERVICE_ENABLE_AUTH=true", "SERVICE_JWT_SECRET=" + strings.Repeat("s", 15)}, "SERVICE_JWT_SECRET", "16 characters or more"},
	{[]string{"SERVICE_TRUSTED_HOSTS=*"}, "SERVICE_TRUSTED_HOSTS", "host names like"},
	{[]string{"SERVICE_TRUSTED_HOSTS=https://hub.example.com"}, "SERVICE_TRUSTED_HOSTS", "host names like"},
	{[]string{"SERVICE_TRUSTED_HOSTS=hub.example.com/x"}, "SERVICE_TRUSTED_HOSTS", "host names like"},
	{[]string{"SERVICE_TRUSTED_HOSTS=."}, "SERVICE_TRUSTED_HOSTS", "host names like"},
	{[]string{"SERVICE_TRUSTED_PROXIES=proxy"}, "SERVICE_TRUSTED_PROXIES", "IP addresses or networks"},
	{[]string{"SERVICE_TRUSTED_PROXIES=10.0.0.0/33"}, "SERVICE_TRUSTED_PROXIES", "IP addresses or networks"},
	{[]string{"SERVICE_ADMIN_PASSWORD=short"}, "SERVICE_ADMIN_PASSWORD", "8 to 72 bytes, not 5"},
	{[]string{"SERVICE_ADMIN_PASSWORD=" + strings.Repeat("é", 37)}, "SERVICE_ADMIN_PASSWORD", "not 74"},
	{[]string{"SERVICE_CORS_ORIGINS=*"}, "SERVICE_CORS_ORIGINS", "every web page"},
	{[]string{"SERVICE_CORS_ORIGINS=https://*.example"}, "SERVICE_CORS_ORIGINS", "name each origin"},
	{[]string{"SERVICE_CORS_ORIGINS=https://a.example/"}, "SERVICE_CORS_ORIGINS", "without a path"},
	{[]string{"SERVICE_CORS_ORIGINS=a.example"}, "SERVICE_CORS_ORIGINS", "origins like"},
	{[]string{"SERVICE_CORS_ORIGINS=https://u@a.example"}, "SERVICE_CORS_ORIGINS", "origins like"},
	{[]string{"SERVICE_CORS_ORIGINS=https://a.example,null"}, "SERVICE_CORS_ORIGINS", "origins like"},
	{[]string{"SERVICE_CORS_ORIGINS=https://a.example:99999"}, "SERVICE_CORS_ORIGINS", "origins like"},
	{[]string{"SERVICE_ARTIFACT_BACKEND=disk"}, "SERVICE_ARTIFACT_BACKEND", "inline, filesystem, s3"},
	{[]string{"SERVICE_S3_ENDPOINT=s3.example.com"}, "SERVICE_S3_ENDPOINT", "https://"},
	{[]string{"SERVICE_S3_ENDPOINT=https://s3.example.com:0"}, "SERVICE_S3_ENDPOINT", "https://"},
	{[]string{"SERVICE_IDLE_EXIT=30"}, "SERVICE_IDLE_EXIT", "a time like 90m"},
	{[]string{"SERVICE_IDLE_EXIT=-30m"}, "SERVICE_IDLE_EXIT", "a time like 90m"},
	{[]string{"SERVICE_MAX_UPLOAD=-1"}, "SERVICE_MAX_UPLOAD", "number of bytes"},
	{[]string{"SERVICE_MAX_UPLOAD=1.5G"}, "SERVICE_MAX_UPLOAD", "number of bytes"},
	{[]string{"SERVICE_MAX_UPLOAD=8589934592G"}, "SERVICE_MAX_UPLOAD", "number of bytes"},
	{[]string{"SERVICE_TRASH_DAYS=-1"}, "SERVICE_TRASH_DAYS", "days from 0 to 36500"},
	{[]string{"SERVICE_AUDIT_DAYS=29"}, "SERVICE_AUDIT_DAYS", "days from 30 to 36500, or 0"},
	{[]string{"SERVICE_TRASH_DAYS=30d"}, "SERVICE_TRASH_DAYS", "days from 0 to 36500"},
	{[]string{"SERVICE_BACKUP_INTERVAL=daily"}, "SERVICE_BACKUP_INTERVAL", "like 90m, 12h or 7d"},
	{[]string{"SERVICE_BACKUP_INTERVAL=59s"}, "SERVICE_BACKUP_INTERVAL", "at least 1m"},
	{[]string{"SERVICE_BACKUP_INTERVAL=-1h"}, "SERVICE_BACKUP_INTERVAL", "at least 1m"},
	{[]string{"SERVICE_BACKUP_KEEP=0"}, "SERVICE_BACKUP_KEEP", "from 1 to 1000"},
	{[]string{"SERVICE_BACKUP_KEEP=all"}, "SERVICE_BACKUP_KEEP", "from 1 to 1000"},
	{[]string{"SERVICE_LOG_LEVEL=loud"}, "SERVICE_LOG_LEVEL", "debug, info, warn, error"},
	{[]string{"SERVICE_LOG_FORMAT=xml"}, "SERVICE_LOG_FORMAT", "text, json"},
}

func TestBadSettingStopsTheStart(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range badSettings {
		t.Run(strings.Join(c.env, " "), func(t *testing.T) {
			runMain(t, c.env, "", "serve").refused(t, 1, "tracker: "+c.setting+" must", c.says)
		})
	}
	if _, err := os.Stat("tracker.db"); err == nil {
		t.Error("a database was made")
	}
}

func TestAllMistakesAreReportedTogether(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, ".env", "SERVICE_LOG_LEVEL=loud\n")
	env := []string{"SERVICE_PORT=x", "SERVICE_BASE_PATH=x", "SERVICE_ENABLE_AUTH=true", "SERVICE_ARTIFACT_BACKEND=s3",
		"SERVICE_CORS_ORIGINS=*"}
	want := []string{
		`SERVICE_PORT must be a port from 0 to 65535, not "x" (from the environment)`,
		`SERVICE_BASE_PATH must`, `SERVICE_CORS_ORIGINS must`,
		`SERVICE_MAX_UPLOAD must be a number of bytes like 1500000, 500M or 2G, or 0 for no limit, not "much" (from the flag --max-upload)`,
		`SERVICE_LOG_LEVEL must be one of debug, info, warn, error, not "loud" (from the environment file)`,
		`SERVICE_JWT_SECRET must`, `SERVICE_S3_BUCKET must`, `SERVICE_S3_ENDPOINT must`, `SERVICE_S3_ACCESS_KEY must`, `SERVICE_S3_SECRET_KEY must`,
	}
	for _, command := range []string{"serve", "config"} {
		r := runMain(t, env, "", command, "--max-upload", "much")
		if r.code != 1 {
			t.Errorf("%s: exit code %d, want 1", command, r.code)
		}
		lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
		if len(lines) != len(want) {
			t.Fatalf("%s: %d lines, want %d:\n%s", command, len(lines), len(want), r.stderr)
		}
		for i, line := range lines {
			if !strings.HasPrefix(line, "tracker: "+want[i]) {
				t.Errorf("%s: line %d is %q, want %q", command, i, line, want[i])
			}
		}
	}
}

// A command reports only errors in settings that it uses.
func TestOtherSettingsDontStopACommand(t *testing.T) {
	seeded(t)
	env := []string{"SERVICE_PORT=x", "SERVICE_LOG_LEVEL=loud", "SERVICE_ENABLE_AUTH=true"}
	runMain(t, env, "", "user", "list").must(t)
	runMain(t, env, "", "backup", "copy.db").must(t)
	runMain(t, env, "", "health").refused(t, 1, "SERVICE_PORT")
}

func TestUnknownSettingIsWarnedOf(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, ".env", "SERVICE_DBFILE=x\nOTHER=1\n")
	r := runMain(t, []string{"SERVICE_PROT=1", "HOME=/"}, "", "config")
	r.must(t)
	want := "tracker: warning: there is no setting SERVICE_PROT; did you mean SERVICE_PORT?\n" +
		"tracker: warning: there is no setting SERVICE_DBFILE; did you mean SERVICE_DB_FILE?\n"
	if r.stderr != want {
		t.Errorf("got  %q\nwant %q", r.stderr, want)
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"SERVICE_HOSTS": "SERVICE_HOST", "SERVICE_JWT_KEY": "SERVICE_JWT_SECRET", "SERVICE_UIPORT": "SERVICE_UI_PORT",
		"SERVICE_AUTH": "SERVICE_PORT", "SERVICE_S3_KEY": "SERVICE_S3_REGION",
	} {
		distance := levenshtein.ComputeDistance
		if got := nearest(name); distance(name, got) > distance(name, want) {
			t.Errorf("nearest(%q) is %q, at %d; %q is at %d", name, got, distance(name, got), want, distance(name, want))
		}
	}
}

func TestHelpShowsWhatIsInForce(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "lab.env", "SERVICE_DB_FILE=/srv/lab.db\nSERVICE_JWT_SECRET=abc\n")
	text := runMain(t, []string{"SERVICE_PORT=8123"}, "", "serve", "--env-file", "lab.env", "--help").must(t)
	for _, want := range []string{"[SERVICE_PORT] (default 8123)", "[SERVICE_DB_FILE] (default /srv/lab.db)",
		"[SERVICE_JWT_SECRET] (default ********)", "[SERVICE_HOST] (default 127.0.0.1)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the help does not say %q:\n%s", want, text)
		}
	}
}

func TestEnvironmentFileThatCantBeRead(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	runMain(t, nil, "", "config", "--env-file", "nowhere.env").refused(t, 1, "nowhere.env")
	runMain(t, nil, "", "config", "--env-file", dir).refused(t, 1, dir)
	for text, line := range map[string]string{
		"SERVICE_PORT=1\n\n# comment\nSERVICE HOST-NAME=x\n": "line 4 ",
		"=\"\nx": "line 1 ",
		"A=\"two\nlines\"\nSERVICE_JWT_SECRET='not closed\nB=1\nC=2\n": "line 3 ",
		"just words\n": "line 1 ",
	} {
		writeFile(t, ".env", text)
		runMain(t, nil, "", "config").refused(t, 1, line, filepath.Base(".env"), "NAME=value")
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		want string // "" for no warning
	}{
		{"loopback", Config{Host: "127.0.0.1", UIHost: "::1", EnableUI: true}, ""},
		{"localhost", Config{Host: "localhost"}, ""},
		{"all addresses", Config{Host: "0.0.0.0"}, "the API on 0.0.0.0 can "},
		{"all addresses of both", Config{Host: "::", UIHost: "lab", EnableUI: true}, "the API on :: or the dashboard on lab can "},
		{"dashboard", Config{Host: "127.0.0.1", UIHost: "10.0.0.7", EnableUI: true}, "reach the dashboard on 10.0.0.7 can "},
		{"dashboard that is off", Config{Host: "127.0.0.1", UIHost: "10.0.0.7"}, ""},
		{"sign-in", Config{Host: "0.0.0.0", EnableAuth: true, JWTSecret: strings.Repeat("s", 32)}, ""},
		{"short secret", Config{Host: "127.0.0.1", EnableAuth: true, JWTSecret: strings.Repeat("s", 31)}, "only 31 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(c.cfg.warnings(), "\n")
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
