package ui

import (
	"encoding/json"
	"strings"

	"tracker/store"
)

// lesson is what an empty page teaches: the lines that fill it.
type lesson struct {
	Shell  string
	Python string
}

// lessonFrom says what is there already; the lines make the rest. "" for what
// is not.
type lessonFrom struct {
	projectID    string
	experimentID string
}

func (s *site) lesson(user store.User, from lessonFrom) *lesson {
	return &lesson{Shell: s.shellLesson(user, from), Python: s.pythonLesson(user, from)}
}

func (s *site) shellLesson(user store.User, from lessonFrom) string {
	b := new(strings.Builder)
	line := func(parts ...string) {
		for _, p := range parts {
			b.WriteString(p)
		}
		b.WriteByte('\n')
	}
	const jsonBody = ` -H 'Content-Type: application/json'`
	bearer := ""
	line("API='", strings.ReplaceAll(s.APIURL, "'", `%27`), "'")
	line(`field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p"; }`)
	line()
	if s.Auth.Enabled() {
		bearer = ` -H "Authorization: Bearer $TOKEN"`
		line("# Sign in")
		line(`TOKEN=$(curl -fsS "$API/auth"`, jsonBody, ` \`)
		line(`  -d '{"username": `, shellJSON(user.Username), `, "password": "YOUR PASSWORD"}' | field access_token)`)
		line()
	}
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
		create("An experiment in it: a question to answer", "EXPERIMENT", "/experiment/project/$PROJECT",
			`{"name": "First experiment"}`)
	} else {
		line("EXPERIMENT=", from.experimentID)
	}
	create("An iteration of it: one run", "ITERATION", "/iteration/experiment/$EXPERIMENT", `{"name": "First run"}`)
	line("# A metric of the run; the step counts up by itself")
	line(`curl -fsS "$API/metric/iteration/$ITERATION"`, bearer, ` \`)
	line(` `, jsonBody, ` -d '{"key": "loss", "value": 0.25}'`)
	return strings.TrimRight(b.String(), "\n")
}

// pythonLesson needs nothing but what comes with Python.
func (s *site) pythonLesson(user store.User, from lessonFrom) string {
	b := new(strings.Builder)
	line := func(text string) { b.WriteString(text + "\n") }
	line("import json, urllib.request\n")
	line("API = " + quoted(s.APIURL))
	line(`HEADERS = {"Content-Type": "application/json"}` + "\n")
	line("def post(path, **body):")
	line("    request = urllib.request.Request(API + path, json.dumps(body).encode(), HEADERS)")
	line("    with urllib.request.urlopen(request) as answer:")
	line("        return json.load(answer)\n")
	if s.Auth.Enabled() {
		line(`token = post("/auth", username=` + quoted(user.Username) + `, password="YOUR PASSWORD")["access_token"]`)
		line(`HEADERS["Authorization"] = "Bearer " + token` + "\n")
	}
	switch {
	case from.experimentID != "":
		line("experiment = " + quoted(from.experimentID))
	case from.projectID != "":
		line("project = " + quoted(from.projectID))
	default:
		line(`project = post("/project", name="First project")["id"]`)
	}
	if from.experimentID == "" {
		line(`experiment = post("/experiment/project/" + project, name="First experiment")["id"]`)
	}
	line(`iteration = post("/iteration/experiment/" + experiment, name="First run")["id"]`)
	line("for step in range(100):")
	line(`    post("/metric/iteration/" + iteration, key="loss", value=1 / (step + 1))`)
	return strings.TrimRight(b.String(), "\n")
}

// quoted writes s as JSON, which is a literal of Python too.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // can't be: a string is always JSON
	}
	return string(b)
}

// shellJSON writes s as JSON that can stand between single quotes in a shell.
func shellJSON(s string) string { return strings.ReplaceAll(quoted(s), "'", `\u0027`) }
