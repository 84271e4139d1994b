package mlflow

import (
	"net/http"
	"strings"

	"tracker/server/web"
	"tracker/store/domain"
)

// A workspace in MLflow is a project. Clients send the workspace name in workspaceHeader. The
// name defaultWorkspace stands for the default project.
const (
	workspaceHeader  = "X-MLFLOW-WORKSPACE"
	defaultWorkspace = "default"
)

// workspace returns the project name in the workspace header, or "" for the default project.
func workspace(r *http.Request) string {
	name := strings.TrimSpace(r.Header.Get(workspaceHeader))
	if name == defaultWorkspace {
		return ""
	}
	return name
}

// serverInfo lists the features that the server supports. Clients request it before they use a
// workspace.
type serverInfo struct {
	Workspaces bool `json:"workspaces_enabled"`
}

func (c *call) serverInfo(struct{}) (serverInfo, error) { return serverInfo{Workspaces: true}, nil }

// readProject returns the id of the requested project. It returns NOT_FOUND if the project does not
// exist or the caller can't read it.
func (c *call) readProject() (string, error) {
	project, err := c.db.Projects.ProjectNamed(c.ctx, c.actor, c.projectName())
	if isNotFound(err) && c.project != "" {
		return "", domain.Errorf(domain.CodeNotFound, "There is no project %q; create it first, or name another one in the tracking URI or in MLFLOW_WORKSPACE.", web.Clip(c.project))
	}
	return project, err
}

// searchedProject is like readProject, but returns "" if the default project does not exist, so
// that a search finds nothing.
func (c *call) searchedProject() (string, error) {
	project, err := c.readProject()
	if isNotFound(err) && c.project == "" {
		return "", nil
	}
	return project, err
}

// makeProject is like readProject, but creates a missing default project.
func (c *call) makeProject() (string, error) {
	if c.project != "" {
		return c.readProject()
	}
	return c.db.Projects.EnsureProject(c.ctx, c.actor, domain.NewProject{Name: c.s.project,
		Description: "Created by the first MLflow client that used this server."})
}

func (c *call) projectName() string {
	if c.project != "" {
		return c.project
	}
	return c.s.project
}
