package ui

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"tracker/server/web"
	"tracker/store/domain"
)

// lesson holds example commands for an empty page. The commands create the first records.
type lesson struct {
	Install string // shell command that installs the Python client; "" for none
	Python  string
	MLflow  string // shell commands for MLflow, "" for none
	Shell   string
}

// lessonFrom names the records that exist. If a field is empty, the example commands create the
// record.
type lessonFrom struct {
	projectID    string
	project      string
	experimentID string
	experiment   string
}

func (s *site) lesson(r *http.Request, user domain.User, from lessonFrom) *lesson {
	api := s.apiURL(r)
	l := &lesson{Install: "pip install --index-url " + s.origin(r) + "/client/python/ runtracker", Shell: s.shellLesson(api, user, from)}
	if s.Auth.Enabled() {
		l.Install += "\npython3 -m tracker login --url " + shellQuoted(api) + " --username " + shellQuoted(user.Username)
	}
	names := quoted(cmp.Or(from.project, "First project")) + ", " + quoted(cmp.Or(from.experiment, "First experiment"))
	b := new(shell)
	b.line("import tracker\n")
	b.line("with tracker.init(", names, `, config={"lr": 0.1}, url=`, quoted(api), ") as run:")
	b.line("    for step in range(100):")
	b.line(`        run.log({"train/loss": 1 / (step + 1)}, step=step)`)
	l.Python = strings.TrimRight(b.String(), "\n")
	l.MLflow = s.mlflowLesson(api, user, from)
	return l
}

// mlflowLesson returns shell commands that run a training script with MLflow and log to the
// project.
func (s *site) mlflowLesson(api string, user domain.User, from lessonFrom) string {
	address := api
	if from.project != "" {
		address += "/mlflow/" + url.PathEscape(from.project)
	}
	b := new(shell)
	b.line("export MLFLOW_TRACKING_URI=", shellQuoted(address))
	b.line("export MLFLOW_EXPERIMENT_NAME=", shellQuoted(cmp.Or(from.experiment, "First experiment")))
	if s.Auth.Enabled() {
		b.line("export MLFLOW_TRACKING_USERNAME=", shellQuoted(user.Username), " MLFLOW_TRACKING_PASSWORD='YOUR PASSWORD'")
	}
	b.line("python3 train.py")
	return strings.TrimRight(b.String(), "\n")
}

// origin returns the URL of the dashboard as the browser sees it.
func (s *site) origin(r *http.Request) string { return cmp.Or(s.PublicURL, web.Address(r, s.BasePath)) }

// apiURL returns the URL at which programs on the browser's machine reach the API. On this machine
// it is the API's own port, elsewhere a path on the dashboard's port.
func (s *site) apiURL(r *http.Request) string {
	u, err := url.Parse(s.origin(r))
	if err != nil || s.PublicURL == "" && web.Loopback(u.Hostname()) {
		return s.APIURL
	}
	return u.String() + web.APIPath
}

// shell builds the commands or the script of a lesson.
type shell struct {
	strings.Builder
	bearer string // curl option with the authorization header, "" if sign-in is off
}

func (b *shell) line(parts ...string) {
	for _, p := range parts {
		b.WriteString(p)
	}
	b.WriteByte('\n')
}

const jsonBody = ` -H 'Content-Type: application/json'`

// shellStart returns shell commands that set the URL of the API and sign in.
func (s *site) shellStart(api string, user domain.User) *shell {
	b := new(shell)
	b.line("API='", strings.ReplaceAll(api, "'", `%27`), "'")
	b.line(`field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p"; }`)
	b.line()
	if s.Auth.Enabled() {
		b.bearer = ` -H "Authorization: Bearer $TOKEN"`
		b.line("# Sign in")
		b.line(`TOKEN=$(curl -fsS "$API/auth"`, jsonBody, ` \`)
		b.line(`  -d '{"username": `, shellJSON(user.Username), `, "password": "YOUR PASSWORD"}' | field access_token)`)
		b.line()
	}
	return b
}

func (s *site) shellLesson(api string, user domain.User, from lessonFrom) string {
	return strings.TrimRight(s.shellRun(api, user, from).String(), "\n")
}

// shellRun returns shell commands that create a run and log a metric.
func (s *site) shellRun(api string, user domain.User, from lessonFrom) *shell {
	b := s.shellStart(api, user)
	line, bearer := b.line, b.bearer
	create := func(comment, name, path, body string) {
		line("# ", comment)
		line(name, `=$(curl -fsS "$API`, path, `"`, bearer, ` \`)
		line(` `, jsonBody, ` -d '`, body, `' | field id)`)
		line()
	}
	if from.experimentID == "" {
		if from.projectID == "" {
			create("A project", "PROJECT", "/project", `{"name": "First project"}`)
		} else {
			line("PROJECT=", from.projectID)
		}
		create("An experiment in the project", "EXPERIMENT", "/experiment/project/$PROJECT",
			`{"name": "First experiment"}`)
	} else {
		line("EXPERIMENT=", from.experimentID)
	}
	create("A run in it", "ITERATION", "/iteration/experiment/$EXPERIMENT", `{"name": "First run"}`)
	line("# A metric of the run; the step is counted automatically")
	line(`curl -fsS "$API/metric/iteration/$ITERATION"`, bearer, ` \`)
	line(` `, jsonBody, ` -d '{"key": "loss", "value": 0.25}'`)
	return b
}

// pythonStart returns the start of a Python script, which sets the URL of the API and signs in.
// The script uses only Python's standard library.
func (s *site) pythonStart(api string, user domain.User) *shell {
	b := new(shell)
	line := b.line
	line("import json, urllib.request\n")
	line("API = " + quoted(api))
	line(`HEADERS = {"Content-Type": "application/json"}` + "\n")
	line("def post(path, **body):")
	line("    request = urllib.request.Request(API + path, json.dumps(body).encode(), HEADERS)")
	line("    with urllib.request.urlopen(request) as answer:")
	line("        return json.load(answer)\n")
	if s.Auth.Enabled() {
		line(`token = post("/auth", username=` + quoted(user.Username) + `, password="YOUR PASSWORD")["access_token"]`)
		line(`HEADERS["Authorization"] = "Bearer " + token` + "\n")
	}
	return b
}

// pythonRun returns a Python script that creates a run in a project and logs a metric.
func (s *site) pythonRun(api string, user domain.User, projectID string) *shell {
	b := s.pythonStart(api, user)
	line := b.line
	line("project = " + quoted(projectID))
	line(`experiment = post("/experiment/project/" + project, name="First experiment")["id"]`)
	line(`iteration = post("/iteration/experiment/" + experiment, name="First run")["id"]`)
	line("for step in range(100):")
	line(`    post("/metric/iteration/" + iteration, key="loss", value=1 / (step + 1))`)
	return b
}

// artifactLesson returns commands that add an artifact to an experiment or a run.
func (s *site) artifactLesson(api string, user domain.User, project, experiment string, v *artifactsView) *lesson {
	b := s.shellStart(api, user)
	b.line("# Any file, with its name and type")
	b.line(`curl -fsS "$API/resource/experiment/`, v.ExperimentID, `"`, b.bearer, ` \`)
	if v.IterationID == "" {
		b.line(`  -F data=@model.bin`)
	} else {
		b.line(`  -F iteration_id=`, v.IterationID, ` -F data=@model.bin`)
	}
	p := new(shell)
	p.line("import tracker\n")
	token := ""
	if s.Auth.Enabled() {
		token = `, token="YOUR TOKEN"`
	}
	if v.IterationID == "" {
		p.line("with tracker.init(", quoted(project), ", ", quoted(experiment), ", url=", quoted(api), token, ") as run:")
	} else {
		p.line("with tracker.init(url=", quoted(api), token, ", resume=", quoted(v.IterationID), ") as run:")
	}
	p.line(`    run.log_artifact("model.bin")`)
	p.line(`    run.log({"sample": tracker.Image("sample.png")}, step=1)`)
	return &lesson{Shell: strings.TrimRight(b.String(), "\n"), Python: strings.TrimRight(p.String(), "\n")}
}

// modelLesson returns commands that create a model and a model version in a project. The shell
// commands also move the version to production. The version's source run is iterationID. If
// iterationID is "", the commands create a run.
func (s *site) modelLesson(api string, user domain.User, projectID, iterationID string) *lesson {
	var b, p *shell
	if iterationID == "" {
		b, p = s.shellRun(api, user, lessonFrom{projectID: projectID}), s.pythonRun(api, user, projectID)
		b.line()
	} else {
		b, p = s.shellStart(api, user), s.pythonStart(api, user)
		b.line("# The source run of the version")
		b.line("ITERATION=", iterationID)
		b.line()
		p.line("iteration = ", quoted(iterationID), "  # the source run of the version")
	}
	b.line("# A model")
	b.line(`MODEL=$(curl -fsS "$API/model/project/`, projectID, `"`, b.bearer, ` \`)
	b.line(` `, jsonBody, ` -d '{"name": "classifier"}' | field id)`)
	b.line()
	b.line("# Its next version; resource_id names the artifact")
	b.line(`VERSION=$(curl -fsS "$API/modelversion/model/$MODEL"`, b.bearer, ` \`)
	b.line(` `, jsonBody, ` -d "{\"iteration_id\": \"$ITERATION\"}" | field id)`)
	b.line()
	b.line("# Moves it to production and archives the former version")
	b.line(`curl -fsS -X PATCH "$API/modelversion/$VERSION"`, b.bearer, ` \`)
	b.line(` `, jsonBody, ` -d '{"stage": "PRODUCTION"}'`)
	p.line(`model = post("/model/project/`, projectID, `", name="classifier")["id"]`)
	p.line(`version = post("/modelversion/model/" + model, iteration_id=iteration)["id"]`)
	return &lesson{Shell: strings.TrimRight(b.String(), "\n"), Python: strings.TrimRight(p.String(), "\n")}
}

// quoted returns s as a JSON string, which is also a valid Python literal.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // unreachable: every string can be encoded as JSON
	}
	return string(b)
}

// shellQuoted returns s quoted as a single shell word.
func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// shellJSON returns s as a JSON string that can be used between single quotes in a shell
// command.
func shellJSON(s string) string { return strings.ReplaceAll(quoted(s), "'", `\u0027`) }
