package cmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/joho/godotenv"
	"github.com/spf13/cobra"

	"tracker/server/web/auth"
	"tracker/store/domain"
)

// Config holds all settings. The tags of a field contain the environment variable, the flag and
// the default of the setting.
type Config struct {
	Host            host       `env:"SERVICE_HOST" envDefault:"127.0.0.1" flag:"host" kind:"address" usage:"address that the API listens on; 0.0.0.0 for all addresses of this machine"`
	Port            port       `env:"SERVICE_PORT" envDefault:"9000" flag:"port" kind:"number" usage:"port of the API; 0 for any free port"`
	EnableUI        bool       `env:"SERVICE_ENABLE_UI" envDefault:"true" flag:"enable-ui" kind:"bool" usage:"serve the dashboard"`
	UIHost          host       `env:"SERVICE_UI_HOST" envDefault:"127.0.0.1" flag:"ui-host" kind:"address" usage:"address that the dashboard listens on"`
	UIPort          port       `env:"SERVICE_UI_PORT" envDefault:"9001" flag:"ui-port" kind:"number" usage:"port of the dashboard; 0 for any free port"`
	PublicURL       publicURL  `env:"SERVICE_PUBLIC_URL" flag:"public-url" kind:"url" usage:"address of the dashboard behind a proxy, like https://lab.example.com/tracker; the API is at /api below it"`
	BasePath        basePath   `env:"SERVICE_BASE_PATH" flag:"base-path" kind:"path" usage:"path under which a proxy serves API and dashboard, like /tracker (default: the path of SERVICE_PUBLIC_URL)"`
	DBFile          string     `env:"SERVICE_DB_FILE" envDefault:"tracker.db" flag:"db-file" kind:"file" usage:"database file"`
	EnableAuth      bool       `env:"SERVICE_ENABLE_AUTH" envDefault:"false" flag:"enable-auth" kind:"bool" usage:"require sign-in; without sign-in everybody is the admin"`
	JWTSecret       string     `env:"SERVICE_JWT_SECRET" flag:"jwt-secret" kind:"secret" usage:"key that signs the tokens; safer in the environment than on a command line"`
	AdminPassword   string     `env:"SERVICE_ADMIN_PASSWORD" flag:"admin-password" kind:"secret" usage:"first password of the user default (default: a random one, shown at the first start with sign-in)"`
	CORSOrigins     origins    `env:"SERVICE_CORS_ORIGINS" flag:"cors-origins" kind:"list" usage:"origins of other web pages that may use the API, like https://lab.example.com, separated by commas"`
	TrustedHosts    hostNames  `env:"SERVICE_TRUSTED_HOSTS" flag:"trusted-hosts" kind:"list" usage:"host names under which a proxy serves this server when sign-in is off, like hub.example.com or .example.com, separated by commas"`
	TrustedProxies  networks   `env:"SERVICE_TRUSTED_PROXIES" flag:"trusted-proxies" kind:"list" usage:"addresses of proxies whose X-Forwarded-For, Forwarded and X-Forwarded-Host are trusted, like 127.0.0.1 or 10.0.0.0/8, separated by commas"`
	ArtifactBackend string     `env:"SERVICE_ARTIFACT_BACKEND" envDefault:"filesystem" flag:"artifact-backend" kind:"name" choices:"inline filesystem s3" usage:"backend for new artifacts: inline, filesystem or s3"`
	ArtifactRoot    string     `env:"SERVICE_ARTIFACT_ROOT" envDefault:"artifacts" flag:"artifact-root" kind:"folder" usage:"folder of the artifacts for the filesystem backend"`
	S3Bucket        string     `env:"SERVICE_S3_BUCKET" flag:"s3-bucket" kind:"name" usage:"bucket for the s3 backend"`
	S3Prefix        string     `env:"SERVICE_S3_PREFIX" flag:"s3-prefix" kind:"text" usage:"prefix of the names of all objects in the bucket"`
	S3Endpoint      webAddress `env:"SERVICE_S3_ENDPOINT" flag:"s3-endpoint" kind:"url" usage:"address of the object store, like https://s3.example.com"`
	S3Region        string     `env:"SERVICE_S3_REGION" flag:"s3-region" kind:"name" usage:"region of the bucket"`
	S3AccessKey     string     `env:"SERVICE_S3_ACCESS_KEY" flag:"s3-access-key" kind:"secret" usage:"access key of the object store"`
	S3SecretKey     string     `env:"SERVICE_S3_SECRET_KEY" flag:"s3-secret-key" kind:"secret" usage:"secret key of the object store"`
	MaxUpload       byteSize   `env:"SERVICE_MAX_UPLOAD" envDefault:"0" flag:"max-upload" kind:"bytes" usage:"largest artifact, like 500M or 2G; 0 for no limit"`
	TrashDays       days       `env:"SERVICE_TRASH_DAYS" envDefault:"30" flag:"trash-days" kind:"number" usage:"days after which deleted records are purged from the trash; 0 to purge at once"`
	AuditDays       auditDays  `env:"SERVICE_AUDIT_DAYS" envDefault:"365" flag:"audit-days" kind:"number" usage:"days after which entries of the audit trail are deleted, at least 30; 0 to keep them"`
	MLflowProject   string     `env:"SERVICE_MLFLOW_PROJECT" envDefault:"MLflow" flag:"mlflow-project" kind:"text" usage:"project for MLflow clients; created when first used"`
	BackupDir       string     `env:"SERVICE_BACKUP_DIR" flag:"backup-dir" kind:"folder" usage:"folder for automatic copies of the database; no copies are made without it"`
	BackupInterval  interval   `env:"SERVICE_BACKUP_INTERVAL" envDefault:"24h" flag:"backup-interval" kind:"time" usage:"time between two copies, like 6h or 7d"`
	BackupKeep      copies     `env:"SERVICE_BACKUP_KEEP" envDefault:"7" flag:"backup-keep" kind:"number" usage:"number of copies to keep"`
	LogDir          string     `env:"SERVICE_LOGDIR" flag:"logdir" kind:"folder" usage:"folder of TensorBoard event files that are imported while they are written"`
	IdleExit        duration   `env:"SERVICE_IDLE_EXIT" envDefault:"0" flag:"idle-exit" kind:"time" usage:"stop the server when the API and the dashboard have been idle for this time, like 30m; 0 for never"`
	LogLevel        logLevel   `env:"SERVICE_LOG_LEVEL" envDefault:"info" flag:"log-level" kind:"level" choices:"debug info warn error" usage:"lowest level that is logged: debug, info, warn or error"`
	LogFormat       string     `env:"SERVICE_LOG_FORMAT" envDefault:"text" flag:"log-format" kind:"name" choices:"text json" usage:"format of the log: text or json"`
}

// setting describes a field of Config. Its values come from the tags of that field.
type setting struct {
	field    string // name of the field in Config
	name     string // name of the environment variable
	flag     string
	kind     string
	usage    string
	fallback string
	choices  []string // allowed values; nil if every value is allowed
}

func (s setting) secret() bool { return s.kind == "secret" }

// settings lists all settings in the order of the fields in Config.
var settings = func() (all []setting) {
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		f := t.Field(i)
		all = append(all, setting{
			field:    f.Name,
			name:     f.Tag.Get("env"),
			flag:     f.Tag.Get("flag"),
			kind:     f.Tag.Get("kind"),
			usage:    f.Tag.Get("usage"),
			fallback: f.Tag.Get("envDefault"),
			choices:  strings.Fields(f.Tag.Get("choices")),
		})
	}
	return all
}()

// value is a setting with its effective value.
type value struct {
	setting
	text   string // unparsed value
	source string // "flag", "environment", "file" or "default"
}

// mistake describes a setting with an invalid value. text is a complete sentence.
type mistake struct{ name, text string }

// mistakes is an error that lists all invalid settings.
type mistakes []mistake

func (m mistakes) Error() string {
	texts := make([]string, len(m))
	for i := range m {
		texts[i] = m[i].text
	}
	return strings.Join(texts, "\n")
}

// load returns the settings. It ignores errors in settings for which cmd has no flag. For
// example, an invalid port does not prevent a backup.
func (a *app) load(cmd *cobra.Command) (Config, error) {
	values, unknown, err := a.readSettings(cmd)
	if err != nil {
		return Config{}, err
	}
	return a.checkSettings(cmd, values, unknown)
}

// checkSettings parses the values that readSettings returned. It prints a warning for each
// unknown name.
func (a *app) checkSettings(cmd *cobra.Command, values []value, unknown []string) (Config, error) {
	for _, name := range unknown {
		a.warn("there is no setting %s; did you mean %s?", name, nearest(name))
	}
	cfg, wrong := parse(values)
	wrong = slices.DeleteFunc(wrong, func(m mistake) bool {
		return !slices.ContainsFunc(settings, func(s setting) bool {
			return s.name == m.name && cmd.Flags().Lookup(s.flag) != nil
		})
	})
	if len(wrong) > 0 {
		return cfg, wrong
	}
	return cfg, nil
}

// readSettings returns each setting with its value and source. It also returns unknown names in
// the environment and the environment file that have a setting's prefix. An empty value counts
// as not set.
func (a *app) readSettings(cmd *cobra.Command) (values []value, unknown []string, err error) {
	file, err := a.readEnvFile()
	if err != nil {
		return nil, nil, err
	}
	environment := map[string]string{}
	for _, pair := range a.env {
		name, text, _ := strings.Cut(pair, "=")
		environment[name] = text
	}
	for _, s := range settings {
		v := value{s, s.fallback, "default"}
		f := cmd.Flags().Lookup(s.flag)
		switch {
		case f != nil && f.Changed:
			if f.Value.String() != "" {
				v.text, v.source = f.Value.String(), "flag"
			}
		case environment[s.name] != "":
			v.text, v.source = environment[s.name], "environment"
		case file[s.name] != "":
			v.text, v.source = file[s.name], "file"
		}
		values = append(values, v)
	}
	for _, from := range []map[string]string{environment, file} {
		for _, name := range slices.Sorted(maps.Keys(from)) {
			known := slices.ContainsFunc(settings, func(s setting) bool { return s.name == name })
			if strings.HasPrefix(name, "SERVICE_") && !known && !slices.Contains(unknown, name) {
				unknown = append(unknown, name)
			}
		}
	}
	return values, unknown, nil
}

// readEnvFile returns the variables in the environment file. It returns none if the file is the
// default file and does not exist.
func (a *app) readEnvFile() (map[string]string, error) {
	path := a.envFile
	if path == "" {
		path = ".env"
	}
	text, err := os.ReadFile(path)
	if a.envFile == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the environment file can't be read: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // remove a byte order mark
	vars, err := godotenv.UnmarshalBytes(text)
	if err != nil {
		// Do not show the parser's message, because it quotes the file and might reveal secrets.
		return nil, fmt.Errorf("line %d of the environment file %s can't be read: write NAME=value, and close every quote", brokenLine(text), path)
	}
	return vars, nil
}

// brokenLine returns the number of the first line that can't be parsed, which is the line after the
// longest valid prefix of text.
func brokenLine(text []byte) int {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for n := len(lines) - 1; n > 0; n-- {
		if _, err := godotenv.UnmarshalBytes(bytes.Join(lines[:n], nil)); err == nil {
			return n + 1
		}
	}
	return 1
}

// parse parses the values into a Config. It also returns a mistake for each invalid value.
func parse(values []value) (cfg Config, wrong mistakes) {
	texts := map[string]string{}
	for _, v := range values {
		texts[v.name] = v.text
	}
	err := env.ParseWithOptions(&cfg, env.Options{Environment: texts, FuncMap: map[reflect.Type]env.ParserFunc{
		reflect.TypeFor[bool](): func(s string) (any, error) {
			b, err := strconv.ParseBool(s)
			if err != nil {
				err = errors.New("must be true or false")
			}
			return b, err
		},
	}})
	var all env.AggregateError
	errors.As(err, &all)
	unread := map[string]error{} // parse errors by field name
	for _, err := range all.Errors {
		var p env.ParseError
		if errors.As(err, &p) {
			unread[p.Name] = p.Err
		}
	}
	for _, v := range values {
		why := unread[v.field]
		if len(v.choices) > 0 && v.text != "" && !slices.Contains(v.choices, v.text) {
			why = fmt.Errorf("must be one of %s", strings.Join(v.choices, ", "))
		}
		if why != nil {
			wrong = append(wrong, mistake{v.name, fmt.Sprintf("%s %v, not %q (from %s)", v.name, why, v.masked(), v.where())})
		}
	}
	wrong = append(wrong, cfg.mistakes()...)
	if cfg.BasePath == "" {
		cfg.BasePath = cfg.PublicURL.path()
	}
	return cfg, wrong
}

func (v value) where() string {
	switch v.source {
	case "flag":
		return "the flag --" + v.flag
	case "file":
		return "the environment file"
	}
	return "the " + v.source
}

// mistakes returns a mistake for each setting that could be parsed but has an invalid value.
func (c Config) mistakes() (wrong mistakes) {
	add := func(name, format string, args ...any) {
		wrong = append(wrong, mistake{name, name + " " + fmt.Sprintf(format, args...)})
	}
	if c.EnableUI && c.Port != 0 && c.Port == c.UIPort && c.Host == c.UIHost {
		add("SERVICE_UI_PORT", "must not be %d like SERVICE_PORT: the dashboard needs its own port", c.UIPort)
	}
	if path := c.PublicURL.path(); c.PublicURL != "" && c.BasePath != "" && c.BasePath != path {
		add("SERVICE_BASE_PATH", "must be %q like the path of SERVICE_PUBLIC_URL, or not set, not %q", cmp.Or(path, "/"), c.BasePath)
	}
	if c.PublicURL != "" && !c.EnableUI {
		add("SERVICE_PUBLIC_URL", "must not be set when SERVICE_ENABLE_UI is false: it is the address of the dashboard, whose port also serves the API")
	}
	if c.EnableAuth && weakSecret(c.JWTSecret) {
		add("SERVICE_JWT_SECRET", "must be your own secret, of %d characters or more, when SERVICE_ENABLE_AUTH is true; keep one in the file .env, which each start and `tracker token` read: %s", auth.MinSecret, keepSecret)
	}
	if n := len(c.AdminPassword); n > 0 && (n < domain.MinPassword || n > domain.MaxPassword) {
		add("SERVICE_ADMIN_PASSWORD", "must have %d to %d bytes, not %d", domain.MinPassword, domain.MaxPassword, n)
	}
	if c.ArtifactBackend == "s3" {
		for _, s := range []struct{ name, text string }{
			{"SERVICE_S3_BUCKET", c.S3Bucket},
			{"SERVICE_S3_ENDPOINT", string(c.S3Endpoint)},
			{"SERVICE_S3_ACCESS_KEY", c.S3AccessKey},
			{"SERVICE_S3_SECRET_KEY", c.S3SecretKey},
		} {
			if s.text == "" {
				add(s.name, "must be set when SERVICE_ARTIFACT_BACKEND is s3")
			}
		}
	}
	return wrong
}

// keepSecret is the shell command that adds a new secret to .env. It makes the file readable
// only by its owner.
const keepSecret = `touch .env && chmod 600 .env && printf '\nSERVICE_JWT_SECRET=%s\n' "$(openssl rand -hex 32)" >> .env`

// weakSecret reports whether a secret is empty, published or easy to guess.
func weakSecret(secret string) bool {
	return len(secret) < auth.MinSecret || secret == auth.DefaultSecret
}

// warnings returns a sentence for each setting that is valid but risky.
func (c Config) warnings() (all []string) {
	if c.EnableAuth {
		return shortSecret(c.JWTSecret)
	}
	open := []string{}
	if !c.Host.loopback() {
		open = append(open, "the API on "+string(c.Host))
	}
	if c.EnableUI && !c.UIHost.loopback() {
		open = append(open, "the dashboard on "+string(c.UIHost))
	}
	if len(open) > 0 {
		all = append(all, "sign-in is off: everybody who can reach "+strings.Join(open, " or ")+
			" can read, change and delete everything. Set SERVICE_ENABLE_AUTH=true and a SERVICE_JWT_SECRET, or listen on 127.0.0.1 only.")
	}
	return all
}

// shortSecret returns a warning if the secret is shorter than an HS256 hash, the minimum that RFC
// 7518, section 3.2, requires.
func shortSecret(secret string) []string {
	if n := len(secret); n > 0 && n < 32 {
		return []string{fmt.Sprintf("SERVICE_JWT_SECRET has only %d bytes, which can be guessed; `openssl rand -hex 32` creates a better one.", n)}
	}
	return nil
}
