package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// Output is the name of the artifact that holds the printed output of a run.
const Output = "output.log"

// listing is one page of a listing.
type listing[T any] struct {
	Data  []T `json:"data"`
	Total int `json:"total"`
}

// list returns at most limit records of a listing, and the total number of records.
func list[T any](ctx context.Context, c *Client, path string, query url.Values, limit int) (all []T, total int, err error) {
	all = []T{}
	for {
		asked := url.Values{"limit": {strconv.Itoa(min(page, limit-len(all)))}, "offset": {strconv.Itoa(len(all))}}
		for name, values := range query {
			asked[name] = values
		}
		var one listing[T]
		if err := c.do(ctx, http.MethodGet, path, asked, nil, &one); err != nil {
			return nil, 0, err
		}
		all = append(all, one.Data...)
		if len(one.Data) == 0 || len(all) >= one.Total || len(all) >= limit {
			return all, one.Total, nil
		}
	}
}

// Projects returns at most limit projects, newest first.
func (c *Client) Projects(ctx context.Context, limit int) ([]Project, error) {
	all, _, err := list[Project](ctx, c, "/project", nil, limit)
	return all, err
}

// ErrNoProject means that no project has the given name.
var ErrNoProject = errors.New("there is no project")

// Project returns the project with exactly the given name, or ErrNoProject if there is none.
func (c *Client) Project(ctx context.Context, name string) (Project, error) {
	return c.projectNamed(ctx, name, url.Values{"name": {name}})
}

// OwnProject is Project for projects that the account owns or was given. A server of an earlier
// version chooses among all projects that the account can read.
func (c *Client) OwnProject(ctx context.Context, name string) (Project, error) {
	p, err := c.projectNamed(ctx, name, url.Values{"name": {name}, "given": {"true"}})
	var refusal *Error
	if errors.As(err, &refusal) && refusal.Field == "given" {
		return c.Project(ctx, name)
	}
	return p, err
}

func (c *Client) projectNamed(ctx context.Context, name string, query url.Values) (Project, error) {
	found, _, err := list[Project](ctx, c, "/project", query, page)
	if err != nil {
		return Project{}, err
	}
	for _, p := range found {
		if p.Name == name {
			return p, nil
		}
	}
	return Project{}, fmt.Errorf("%w %q", ErrNoProject, name)
}

// Experiments returns at most limit experiments of a project, newest first.
func (c *Client) Experiments(ctx context.Context, project string, limit int) ([]Experiment, error) {
	all, _, err := list[Experiment](ctx, c, "/experiment/project/"+url.PathEscape(project), nil, limit)
	return all, err
}

// Search selects runs of an experiment. Its strings are in the search language of the API.
type Search struct {
	Filter, Sort, Columns string
	Limit                 int
}

// Runs returns the runs of an experiment that s selects, at most s.Limit. It also returns the
// number of matching runs without that limit.
func (c *Client) Runs(ctx context.Context, experiment string, s Search) ([]Run, int, error) {
	query := url.Values{}
	for name, text := range map[string]string{"filter": s.Filter, "sort": s.Sort, "columns": s.Columns} {
		if text != "" {
			query.Set(name, text)
		}
	}
	return list[Run](ctx, c, "/iteration/experiment/"+url.PathEscape(experiment), query, s.Limit)
}

// Run returns the run with the given id.
func (c *Client) Run(ctx context.Context, id string) (r Run, err error) {
	err = c.do(ctx, http.MethodGet, "/iteration/"+url.PathEscape(id), nil, nil, &r)
	if refused, ok := err.(*Error); ok && refused.Code == "NOT_FOUND" {
		refused.Message = "There is no such run." // the API calls a run an iteration
	}
	return r, err
}

// Summary returns the parameters of a run and the statistics of its metrics.
func (c *Client) Summary(ctx context.Context, run string) (s Summary, err error) {
	err = c.do(ctx, http.MethodGet, "/iteration/"+url.PathEscape(run)+"/summary", nil, nil, &s)
	return s, err
}

// Difference returns a sentence about the differences between the run baseline and another run. It
// returns an error if the server is too old for this route.
func (c *Client) Difference(ctx context.Context, baseline, run string) (sentence string, err error) {
	var d struct {
		Sentence string `json:"sentence"`
	}
	err = c.do(ctx, http.MethodGet, "/iteration/"+url.PathEscape(baseline)+"/difference/"+url.PathEscape(run), nil, nil, &d)
	return d.Sentence, err
}

// Detail holds a run and all its data except the points. Snapshot is nil if the run recorded
// none. Diagnosis is nil if the server has none.
type Detail struct {
	Run
	Project    string     `json:"project"`
	Experiment string     `json:"experiment"`
	Summary    Summary    `json:"summary"`
	Snapshot   *Snapshot  `json:"snapshot"`
	Artifacts  []Artifact `json:"artifacts"`
	Diagnosis  *Diagnosis `json:"diagnosis"`
}

// maxArtifacts is the maximum number of artifacts in a Detail.
const maxArtifacts = 1000

// Detail returns the details of a run.
func (c *Client) Detail(ctx context.Context, id string) (d Detail, err error) {
	if d.Run, err = c.Run(ctx, id); err != nil {
		return d, err
	}
	var e Experiment
	if err := c.do(ctx, http.MethodGet, "/experiment/"+url.PathEscape(d.ExperimentID), nil, nil, &e); err != nil {
		return d, err
	}
	var p Project
	if err := c.do(ctx, http.MethodGet, "/project/"+url.PathEscape(e.ProjectID), nil, nil, &p); err != nil {
		return d, err
	}
	d.Project, d.Experiment = p.Name, e.Name
	if d.Summary, err = c.Summary(ctx, id); err != nil {
		return d, err
	}
	var s Snapshot
	err = c.do(ctx, http.MethodGet, "/iteration/"+url.PathEscape(id)+"/snapshot", nil, nil, &s)
	switch {
	case err == nil:
		d.Snapshot = &s
	case !Is(err, "NOT_FOUND"):
		return d, err
	}
	if d.Diagnosis, err = c.Diagnosis(ctx, id); err != nil {
		return d, err
	}
	d.Artifacts, err = c.artifacts(ctx, d.Run, nil)
	return d, err
}

func (c *Client) artifacts(ctx context.Context, r Run, query url.Values) ([]Artifact, error) {
	asked := url.Values{"iteration_id": {r.ID}}
	for name, values := range query {
		asked[name] = values
	}
	all, _, err := list[Artifact](ctx, c, "/resource/experiment/"+url.PathEscape(r.ExperimentID), asked, maxArtifacts)
	return all, err
}

// ErrNoOutput means that the printed output of a run is not stored. Runs store their output
// when they end.
var ErrNoOutput = errors.New("the run has no output: it printed nothing, it has not ended, or it does not store output")

// WriteOutput writes the printed output of a run to w. It returns ErrNoOutput if the output is
// not stored.
func (c *Client) WriteOutput(ctx context.Context, r Run, w io.Writer) error {
	found, err := c.artifacts(ctx, r, url.Values{"name": {Output}})
	if err != nil {
		return err
	}
	written := false
	for _, a := range found {
		if a.Name != Output {
			continue
		}
		answer, err := c.send(ctx, http.MethodGet, "/resource/"+url.PathEscape(a.ID)+"/data", nil, nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, answer.Body)
		answer.Body.Close()
		if err != nil {
			return fmt.Errorf("the output was interrupted: %w", err)
		}
		written = true
	}
	if !written {
		return ErrNoOutput
	}
	return nil
}

// Curves returns the curves of the metrics with the given keys, each reduced to about the given
// number of points. The reduction preserves peaks.
func (c *Client) Curves(ctx context.Context, run string, keys []string, points int) ([]Curve, error) {
	var answer struct {
		Series []Curve `json:"series"`
	}
	query := url.Values{"key": keys, "points": {strconv.Itoa(points)}}
	err := c.do(ctx, http.MethodGet, "/metric/iteration/"+url.PathEscape(run)+"/series", query, nil, &answer)
	return answer.Series, err
}

// Tag attaches a tag to a run.
func (c *Client) Tag(ctx context.Context, run, tag string) error {
	return c.do(ctx, http.MethodPost, "/tag/iteration/"+url.PathEscape(run), nil, map[string]string{"value": tag}, nil)
}

// Stop asks a run to stop.
func (c *Client) Stop(ctx context.Context, run string) error {
	return c.do(ctx, http.MethodPost, "/iteration/"+url.PathEscape(run)+"/stop", nil, nil, nil)
}

// SetNotes replaces the notes of a run.
func (c *Client) SetNotes(ctx context.Context, run, notes string) error {
	return c.do(ctx, http.MethodPatch, "/iteration/"+url.PathEscape(run), nil, map[string]string{"notes": notes}, nil)
}

// Members returns at most limit permissions on a project, sorted by user name.
func (c *Client) Members(ctx context.Context, project string, limit int) ([]Member, error) {
	all, _, err := list[Member](ctx, c, "/project/"+url.PathEscape(project)+"/members", nil, limit)
	return all, err
}

// Share sets the permissions of a user on a project.
func (c *Client) Share(ctx context.Context, project, username string, r Rights) error {
	body := struct {
		Username string `json:"username"`
		Rights
	}{username, r}
	return c.do(ctx, http.MethodPost, "/project/"+url.PathEscape(project)+"/members", nil, body, nil)
}

// Unshare deletes a permission.
func (c *Client) Unshare(ctx context.Context, permission string) error {
	return c.do(ctx, http.MethodDelete, "/userpermission/"+url.PathEscape(permission), nil, nil, nil)
}
