package wandb

import (
	"maps"
	"slices"
	"strconv"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/wandb"
	"tracker/store/wandb/format"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// mutations returns the fields of the GraphQL type Mutation.
func (c *call) mutations() object {
	all := object{
		"__typename":               "Mutation",
		"upsertBucket":             c.upsertBucket,
		"upsertModel":              c.upsertModel,
		"createRunFiles":           c.createRunFiles,
		"deleteRun":                c.deleteRun,
		"deleteFiles":              c.deleteFiles,
		"renameProject":            c.renameProject,
		"deleteModel":              c.deleteProject,
		"stopRun":                  c.stopRun,
		"updateRunState":           c.updateRunState,
		"upsertView":               c.upsertView,
		"deleteView":               c.deleteView,
		"notifyScriptableRunAlert": c.alert,
		"markRunFilesUploaded":     func(args) (any, error) { return object{"success": true}, nil },
	}
	maps.Copy(all, c.artifactMutations())
	maps.Copy(all, c.collectionMutations())
	maps.Copy(all, c.sweepMutations())
	return all
}

// upsertBucket creates or updates a run.
func (c *call) upsertBucket(a args) (any, error) {
	change := wandb.Change{
		ID: a.str("id"), Project: a.str("modelName"), Name: a.str("name"),
		DisplayName: a.text("displayName"), Notes: a.text("notes"), Group: a.text("groupName"), JobType: a.text("jobType"),
		Config: a.text("config"), Summary: a.text("summaryMetrics"), Host: a.text("host"), Program: a.text("jobProgram"),
		Remote: a.text("jobRepo"), Commit: a.text("commit"), Sweep: a.text("sweep"), State: a.text("state"), Tags: a.texts("tags"),
	}
	if change.Project == "" {
		change.Project = defaultProject
	}
	var err error
	if change.Writer, err = c.writer("X-WANDB-CLIENT-ID"); err != nil {
		return nil, err
	}
	if change.Config != nil {
		own := format.MemberOf(format.MemberOf(*change.Config, "_wandb"), "value")
		if format.MemberOf(own, "branch_point") != "" {
			return nil, domain.Invalid("config", "This server does not fork runs; leave out fork_from. docs/wandb.md lists what is supported.")
		}
		if change.ID == "" && change.Writer == "" && sharedMode(own) {
			// Only wandb sync sends an existing run without the id of a writer.
			r, err := c.db.Wandb.Record(c.ctx, c.actor, change.Project, change.Name)
			if isNotFound(err) || err == nil && !r.Shared {
				return nil, domain.Invalid("config", `This version of wandb does not tell the writers of a run apart; use a newer version, or leave out mode="shared". docs/wandb.md lists what is supported.`)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if change.ID == "" && change.Name == "" {
		name := newName()
		change.Name = name
	}
	saved, err := c.db.Wandb.SaveRun(c.ctx, c.actor, change)
	if err != nil {
		return nil, err
	}
	project := change.Project
	r, err := c.db.Wandb.RecordOf(c.ctx, c.actor, saved.ID)
	switch {
	case err == nil && change.ID != "":
		project, err = c.projectOf(&r)
	case err != nil && domain.AsError(err).Code == domain.CodeProjectPermissionRequired:
		// The user may have the permission to add runs but not to read them.
		r, err = wandb.Record{Run: saved.Run}, nil
		r.ID, r.Name = saved.ID, saved.RunID
	}
	if err != nil {
		return nil, err
	}
	return object{"bucket": c.runObject(a.str("entityName"), project, &r), "inserted": saved.Inserted,
		"serverSettings": object{"serverMessages": []object{}}}, nil
}

// featureShared is the number of shared mode in the list of client features that a run uses.
// Clients send the list in the configuration (field 67 of Feature in wandb_telemetry.proto).
const featureShared = 67

// sharedMode reports whether a run uses shared mode. In shared mode, several processes write to
// the run and number their rows independently. own is the client's own part of the
// configuration.
func sharedMode(own string) bool {
	var features []int
	err := json.Unmarshal([]byte(format.MemberOf(format.MemberOf(own, "t"), "3")), &features)
	return err == nil && slices.Contains(features, featureShared)
}

// projectOf returns the name of a run's project.
func (c *call) projectOf(r *wandb.Record) (name string, err error) {
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		e, err := v.Projects.Experiment(r.ExperimentID)
		if err != nil {
			return err
		}
		p, err := v.Projects.Project(e.ProjectID)
		name = p.Name
		return err
	})
	return name, err
}

func (c *call) upsertModel(a args) (any, error) {
	name := a.str("name")
	if name == "" {
		name = defaultProject
	}
	_, err := c.projectNamed(name)
	isNew := isNotFound(err)
	id, err := c.db.Projects.EnsureProject(c.ctx, c.actor, domain.NewProject{Name: name})
	if err != nil {
		return nil, err
	}
	if text := a.text("description"); text != nil {
		if err := c.db.Projects.UpdateProject(c.ctx, c.actor, id, projects.ProjectPatch{Description: text}); err != nil {
			return nil, err
		}
	}
	p, err := c.project(a.str("entityName"), id)
	return object{"model": p, "project": p, "inserted": isNew}, err
}

// createRunFiles returns an upload address for each named file of a run.
func (c *call) createRunFiles(a args) (any, error) {
	entity, project, run := a.str("entityName"), a.str("projectName"), a.str("runName")
	if entity == "" {
		entity = c.user.Username
	}
	if project == "" {
		project = defaultProject
	}
	var files []object
	for _, name := range a.texts("files") {
		name = cleanName(name)
		if err := c.takeNamed(name); err != nil {
			return nil, err
		}
		link, err := c.linkURL(entity, project, run, name)
		if err != nil {
			return nil, err
		}
		files = append(files, object{"__typename": "File", "name": name, "uploadUrl": link})
	}
	return object{"runID": run, "uploadHeaders": []string{}, "files": files}, nil
}

// deleteRun moves a run to the trash. A repeated call changes nothing.
func (c *call) deleteRun(a args) (any, error) {
	err := ignoreMissing(c.db.Runs.DeleteIteration(c.ctx, c.actor, a.str("id")))
	return object{"success": err == nil, "clientMutationId": nil}, err
}

// stopRun asks the script of a run to stop. It does nothing if the run has ended.
func (c *call) stopRun(a args) (any, error) {
	err := c.db.Runs.RequestStop(c.ctx, c.actor, a.str("id"))
	if err != nil && domain.AsError(err).Code == domain.CodeIterationEnded {
		err = nil
	}
	return object{"clientMutationId": nil, "success": err == nil}, err
}

// updateRunState marks a run as failed. The other state that clients send, pending, does not exist
// here.
func (c *call) updateRunState(a args) (any, error) {
	if state := a.str("state"); state != "failed" {
		return nil, domain.Invalid("state", "The state of a run can only be changed to failed; start another run instead.")
	}
	status := domain.Failed
	err := c.db.Runs.UpdateIteration(c.ctx, c.actor, a.str("id"), runs.IterationPatch{Status: &status})
	return object{"success": err == nil}, err
}

func (c *call) deleteFiles(a args) (any, error) {
	for _, id := range a.texts("files") {
		if err := c.db.Files.DeleteArtifact(c.ctx, c.actor, id); err != nil {
			return nil, err
		}
	}
	return object{"success": true}, nil
}

// alert appends a message from a training script to the run's notes.
func (c *call) alert(a args) (any, error) {
	r, err := c.db.Wandb.Record(c.ctx, c.actor, a.str("projectName"), a.str("runName"))
	if err != nil {
		return nil, err
	}
	text := a.str("title")
	if more := a.str("text"); more != "" {
		text += ": " + more
	}
	if severity := a.str("severity"); severity != "" {
		text = severity + " " + text
	}
	notes := r.Notes
	if notes != "" {
		notes += "\n"
	}
	notes += text
	if len(notes) <= domain.MaxText {
		err = c.db.Runs.UpdateIteration(c.ctx, c.actor, r.ID, runs.IterationPatch{Notes: &notes})
	} else {
		err = c.lose(r.ID, "An alert was left out: the notes are full.")
	}
	return object{"success": err == nil}, err
}
