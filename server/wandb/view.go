package wandb

import (
	"encoding/base64"
	"errors"
	"strings"

	"tracker/server/wandb/workspace"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/projects"
	"tracker/store/scalar"
	"tracker/store/transfer"
	"tracker/store/wandb"
)

// Types of views. Clients call a saved workspace a project view, and a report a view of runs.
const (
	workspaceView = "project-view"
	reportView    = "runs"
	draftView     = "runs/draft"
)

// viewPrefix begins the decoded id of a view. Clients decode the id in the address of a report as
// base64 and encode it again, so an id that is not base64 would change.
const viewPrefix = "View:"

func viewID(id string) string { return base64.StdEncoding.EncodeToString([]byte(viewPrefix + id)) }

// recordOfView returns the id of the report or saved view for the id of a view. It returns "" if the
// id is not valid.
func recordOfView(id string) string {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(id, "="))
	if err != nil {
		return ""
	}
	record, ok := strings.CutPrefix(string(b), viewPrefix)
	if !ok {
		return ""
	}
	return record
}

// upsertView saves a workspace as a saved view, or a report.
func (c *call) upsertView(a args) (any, error) {
	kind, name := a.str("type"), a.str("name")
	project := orDefault(a.str("projectName"))
	id := ""
	if given := a.str("id"); given != "" {
		if id = recordOfView(given); id == "" {
			return nil, errNoView
		}
	}
	if name == "" {
		name = newName()
	}
	if err := c.share.Grow(int64(json.Values([]byte(a.str("spec")))) * valueBytes); err != nil {
		return nil, err
	}
	client := &projects.ClientSpec{Name: name, Description: a.str("description"), Spec: a.str("spec")}
	title := "Untitled"
	if text := a.str("displayName"); strings.TrimSpace(text) != "" {
		title = transfer.FitName(text)
	}
	var saved string
	var err error
	switch kind {
	case workspaceView:
		saved, err = c.saveWorkspace(id, project, title, client)
	case reportView, draftView:
		saved, err = c.saveReport(id, project, title, client)
	default:
		err = domain.Invalid("type", "This server has views of the types %s and %s.", workspaceView, reportView)
	}
	if err != nil {
		return nil, err
	}
	view, err := c.view(a.str("entityName"), saved)
	return object{"view": view, "inserted": id == ""}, err
}

var errNoView = domain.NotFound("view")

// find returns functions that find the records that a definition names. Runs are looked up in the
// project, and charts of a report can only show runs of its project.
func (c *call) find(project, projectID, experimentID string) workspace.Find {
	return workspace.Find{
		Run: func(name string) (id string, err error) {
			err = c.db.View(c.ctx, c.actor, func(v *store.View) (err error) {
				id, err = v.Wandb.Iteration(project, name)
				return err
			})
			return id, ignoreRefused(err)
		},
		Experiment: func(name string) (string, error) {
			if id, err := c.db.Projects.ProjectNamed(c.ctx, c.actor, name); err != nil || id != projectID {
				return "", ignoreRefused(err)
			}
			return experimentID, nil
		},
	}
}

// ignoreRefused returns nil if the store has refused a name, for example because no record has it.
// It returns any other error, such as a failure of the database, unchanged.
func ignoreRefused(err error) error {
	var refused *domain.Error
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

// runsOf returns the ids of a project and of the experiment with its runs. It creates both if
// necessary.
func (c *call) runsOf(project string) (projectID, experimentID string, err error) {
	projectID, err = c.db.Projects.EnsureProject(c.ctx, c.actor, domain.NewProject{Name: transfer.FitName(project)})
	if err != nil {
		return "", "", err
	}
	e, err := c.db.Projects.ExperimentNamed(c.ctx, c.actor, projectID, wandb.ExperimentName)
	if !isNotFound(err) {
		return projectID, e.ID, err
	}
	made, err := c.db.Projects.CreateExperiment(c.ctx, c.actor, projectID, projects.NewExperiment{Name: wandb.ExperimentName})
	return projectID, made.ID, err
}

// saveWorkspace saves a workspace as a saved view and returns its id. If the name is used by another
// view of the experiment, it adds the client's name of the view.
func (c *call) saveWorkspace(id, project, title string, client *projects.ClientSpec) (string, error) {
	projectID, experimentID, err := c.runsOf(project)
	if err != nil {
		return "", err
	}
	v, err := workspace.Read(client.Spec, c.find(project, projectID, experimentID))
	if err != nil {
		return "", err
	}
	save := func(title string) error {
		if id != "" {
			return c.db.Projects.UpdateSavedView(c.ctx, c.actor, id,
				projects.SavedViewPatch{Name: &title, Query: &v.Query, Panels: v.Panels, Client: client})
		}
		made, err := c.db.Projects.CreateSavedView(c.ctx, c.actor, experimentID,
			projects.NewSavedView{Name: title, Query: v.Query, Panels: v.Panels, Client: client})
		if err == nil {
			id = made.ID
		}
		return err
	}
	err = save(title)
	if err != nil && domain.AsError(err).Code == domain.CodeConflict {
		err = save(transfer.FitName(title + " (" + shortViewName(client.Name) + ")"))
	}
	return id, err
}

// shortViewName returns the name of a workspace as in the address that its client prints: a0b1c2d3
// for nw-a0b1c2d3-v.
func shortViewName(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(name, "nw-"), "-v")
}

// saveReport saves a report and returns its id.
func (c *call) saveReport(id, project, title string, client *projects.ClientSpec) (string, error) {
	projectID, experimentID, err := c.runsOf(project)
	if err != nil {
		return "", err
	}
	text, err := workspace.Report(project, client.Description, client.Spec, c.find(project, projectID, experimentID))
	if err != nil {
		return "", err
	}
	client.Of = domain.Fingerprint(text)
	if id != "" {
		return id, c.db.Projects.UpdateReport(c.ctx, c.actor, id, projects.ReportPatch{Name: &title, Text: &text, Client: client})
	}
	made, err := c.db.Projects.CreateReport(c.ctx, c.actor, projectID, projects.NewReport{Name: title, Text: text, Client: client})
	return made.ID, err
}

// deleteView deletes a saved view, or moves a report to the trash.
func (c *call) deleteView(a args) (any, error) {
	id := recordOfView(a.str("id"))
	if id == "" {
		return nil, errNoView
	}
	err := c.db.Projects.DeleteReport(c.ctx, c.actor, id)
	if isNotFound(err) {
		err = c.db.Projects.DeleteSavedView(c.ctx, c.actor, id)
	}
	return object{"__typename": "DeleteViewPayload", "success": err == nil, "pendingDrafts": nil}, err
}

// viewQuery returns the view with an id, or nil if it does not exist.
func (c *call) viewQuery(a args) (any, error) {
	id := recordOfView(a.str("id"))
	if id == "" {
		return nil, nil
	}
	return c.view("", id)
}

// view returns the view for a report or a saved view, or nil if it does not exist.
func (c *call) view(entity, id string) (any, error) {
	var o object
	err := c.db.View(c.ctx, c.actor, func(v *store.View) error {
		r, err := v.Projects.Report(id)
		if err == nil {
			o, err = c.reportObject(v, entity, r)
			return err
		}
		if !isNotFound(err) {
			return err
		}
		one, err := v.Projects.ClientView(id)
		if err != nil {
			return err
		}
		e, err := v.Projects.Experiment(one.ExperimentID)
		if err != nil {
			return err
		}
		p, err := v.Projects.Project(e.ProjectID)
		o = c.workspaceObject(entity, p, one)
		return err
	})
	if isNotFound(err) {
		return nil, nil
	}
	return o, err
}

// viewObject returns the fields that all views have.
func (c *call) viewObject(entity string, p projects.Project, kind, id, title string, client projects.ClientSpec, created, updated scalar.Time) object {
	if entity == "" {
		entity = c.user.Username
	}
	return object{"__typename": "View", "id": viewID(id), "type": kind, "name": client.Name, "displayName": title, "description": client.Description,
		"project": object{"__typename": "Project", "id": p.ID, "name": p.Name, "entityName": entity}, "spec": client.Spec,
		"createdAt": isoTime(created), "updatedAt": isoTime(updated), "locked": false, "accessTokens": []object{},
		"user": object{"__typename": "User", "username": c.user.Username, "photoUrl": nil, "email": ""}}
}

func (c *call) workspaceObject(entity string, p projects.Project, one projects.ClientView) object {
	return c.viewObject(entity, p, workspaceView, one.ID, one.Name, one.ClientSpec, one.CreatedDate, one.UpdatedDate)
}

// reportObject returns a report as a view. Its definition is the one that the client saved. For a
// report that was written or changed in the dashboard, it is a definition with one Markdown block.
func (c *call) reportObject(v *store.View, entity string, r projects.Report) (object, error) {
	p, err := v.Projects.Project(r.ProjectID)
	if err != nil {
		return nil, err
	}
	client, err := v.Projects.ReportClient(r.ID)
	if err != nil {
		return nil, err
	}
	if client == nil {
		spec, err := json.Marshal(workspace.Markdown(r.Text), json.AllowInvalidUTF8(true))
		if err != nil {
			return nil, err
		}
		client = &projects.ClientSpec{Name: r.ID, Spec: string(spec)}
	}
	if err := domain.Take(c.ctx, int64(len(client.Spec))); err != nil {
		return nil, err
	}
	return c.viewObject(entity, p, reportView, r.ID, r.Name, *client, r.CreatedDate, r.UpdatedDate), nil
}

// maxViews is the maximum number of reports in a response.
const maxViews = 100

// allViews returns the saved workspaces or the reports of a project.
func (c *call) allViews(entity string, p projects.Project, a args) (any, error) {
	var edges []object
	offset, err := offsetOf(a.str("after"))
	if err != nil {
		return nil, err
	}
	more := false
	name := a.str("viewName")
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		if a.str("viewType") == workspaceView {
			all, err := v.Projects.ClientViews(p.ID, name)
			for i, one := range all {
				edges = append(edges, object{"node": c.workspaceObject(entity, p, one), "cursor": itoa(int64(i + 1))})
			}
			return err
		}
		if kind := a.str("viewType"); kind != "" && kind != reportView {
			return nil
		}
		limit := int(max(1, min(a.number("first", maxViews), maxViews)))
		all, err := v.Projects.Reports(p.ID, domain.Page{Limit: limit, Offset: offset})
		if err != nil {
			return err
		}
		for i, r := range all.Data {
			o, err := c.reportObject(v, entity, r)
			if err != nil {
				return err
			}
			if name == "" || o["name"] == name || r.Name == name {
				edges = append(edges, object{"node": o, "cursor": itoa(int64(offset + i + 1))})
			}
		}
		more = offset+len(all.Data) < all.Total
		return nil
	})
	return pageOf(edges, itoa(int64(offset+len(edges))), more), err
}
