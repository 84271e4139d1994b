package mlflow

import (
	"net/http"
	"strings"

	"tracker/server/web"
	"tracker/store/domain"
)

// A workspace of MLflow is a project. Clients with a workspace name it in this header;
// defaultWorkspace is the default project.
const (
	workspaceHeader  = "X-MLFLOW-WORKSPACE"
	defaultWorkspace = "default"
)

// workspace returns the project that the header of a request names, "" for the default
// one.
func workspace(r *http.Request) string {
	name := strings.TrimSpace(r.Header.Get(workspaceHeader))
	if name == defaultWorkspace {
		return ""
	}
	return name
}

// serverInfo describes the server to clients, which request it before they use a
// workspace. Omitted features are not supported.
type serverInfo struct {
	Workspaces bool `json:"workspaces_enabled"`
}

func (c *call) serverInfo(struct{}) (serverInfo, error) { return serverInfo{Workspaces: true}, nil }

// readProject returns the id of the project of a call. It returns NOT_FOUND if the
// project does not exist or the caller may not read it.
func (c *call) readProject() (string, error) {
	project, err := c.db.Projects.ProjectNamed(c.ctx, c.actor, c.projectName())
	if isNotFound(err) && c.project != "" {
		return "", domain.Errorf(domain.CodeNotFound, "There is no project %q; create it first, or name another one in the tracking URI or in MLFLOW_WORKSPACE.", web.Clip(c.project))
	}
	return project, err
}

// searchedProject is readProject for a search. It returns "" if the default project
// does not exist yet, so that nothing is found.
func (c *call) searchedProject() (string, error) {
	project, err := c.readProject()
	if isNotFound(err) && c.project == "" {
		return "", nil
	}
	return project, err
}

// makeProject is readProject, but creates the default project if it does not exist.
func (c *call) makeProject() (string, error) {
	if c.project != "" {
		return c.readProject()
	}
	return c.db.Projects.EnsureProject(c.ctx, c.actor, domain.NewProject{Name: c.s.project,
		Description: "Made by the first MLflow client that used this server."})
}

func (c *call) projectName() string {
	if c.project != "" {
		return c.project
	}
	return c.s.project
}
