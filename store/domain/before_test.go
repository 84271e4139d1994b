package domain_test

import (
	"testing"

	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/users"
)

// If a field has changed since the client read it, a patch changes nothing. Fields that have not
// changed can be set, and setting a field to its current value is not a conflict.
func TestBefore(t *testing.T) {
	r := newBed(t)
	model := newModel(t, r, r.Project, "fraud")
	version := must(r.Models.CreateModelVersion(ctx, domain.System, model, registry.NewModelVersion{IterationID: r.Iteration}))(t).ID
	user := must(r.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "eve", Password: "long enough"}))(t).ID
	for name, record := range map[string]struct {
		field  string
		update func(value *string, b domain.Before, other *string) error
		read   func() (value, other string)
	}{
		"project": {"description", func(v *string, b domain.Before, other *string) error {
			return r.Projects.UpdateProject(ctx, domain.System, r.Project, projects.ProjectPatch{Name: other, Description: v, Before: b})
		}, func() (string, string) {
			p := must(r.Projects.Project(ctx, domain.System, r.Project))(t)
			return p.Description, p.Name
		}},
		"experiment": {"name", func(v *string, b domain.Before, other *string) error {
			return r.Projects.UpdateExperiment(ctx, domain.System, r.Experiment, projects.ExperimentPatch{Name: v, Description: other, Before: b})
		}, func() (string, string) {
			e := must(r.Projects.Experiment(ctx, domain.System, r.Experiment))(t)
			return e.Name, e.Description
		}},
		"iteration": {"notes", func(v *string, b domain.Before, other *string) error {
			return r.Runs.UpdateIteration(ctx, domain.System, r.Iteration, runs.IterationPatch{Name: other, Notes: v, Before: b})
		}, func() (string, string) {
			i := must(r.Runs.Iteration(ctx, domain.System, r.Iteration))(t)
			return i.Notes, i.Name
		}},
		"model": {"name", func(v *string, b domain.Before, other *string) error {
			return r.Models.UpdateModel(ctx, domain.System, model, registry.ModelPatch{Name: v, Description: other, Before: b})
		}, func() (string, string) {
			m := must(r.Models.Model(ctx, domain.System, model))(t)
			return m.Name, m.Description
		}},
		"version": {"description", func(v *string, b domain.Before, other *string) error {
			return r.Models.UpdateModelVersion(ctx, domain.System, version, registry.ModelVersionPatch{Description: v, Before: b})
		}, func() (string, string) {
			return must(r.Models.ModelVersion(ctx, domain.System, version))(t).Description, "after"
		}},
		"user": {"last_name", func(v *string, b domain.Before, other *string) error {
			return r.Users.UpdateUser(ctx, domain.System, user, users.UserPatch{FirstName: other, LastName: v, Before: b})
		}, func() (string, string) {
			u := must(r.Users.User(ctx, domain.System, user))(t)
			return u.LastName, u.FirstName
		}},
	} {
		t.Run(name, func(t *testing.T) {
			before, _ := record.read()
			seen := domain.Before{record.field: domain.Fingerprint(before)}
			wantOK(t, record.update(new("theirs"), nil, new("before")))
			err := record.update(new("mine"), seen, new("after"))
			wantCode(t, err, domain.CodeConflict)
			if field := domain.AsError(err).Field; field != record.field {
				t.Errorf("it is about %q", field)
			}
			if value, other := record.read(); value != "theirs" || other == "after" && name != "version" {
				t.Errorf("%q and %q were stored", value, other)
			}
			wantOK(t, record.update(new("theirs"), seen, nil))
			wantOK(t, record.update(nil, seen, new("after")))
			wantOK(t, record.update(new("mine"), domain.Before{record.field: domain.Fingerprint("theirs")}, nil))
			if value, other := record.read(); value != "mine" || other != "after" {
				t.Errorf("%q and %q are stored", value, other)
			}
		})
	}
	wantOK(t, r.Projects.UpdateExperiment(ctx, domain.System, r.Experiment, projects.ExperimentPatch{Status: new(domain.Finished)}))
	wantCode(t, r.Projects.UpdateExperiment(ctx, domain.System, r.Experiment, projects.ExperimentPatch{Status: new(domain.Stopped),
		Before: domain.Before{"status": domain.Fingerprint(string(domain.InProgress))}}), domain.CodeConflict)
}

// Text has the same fingerprint after a browser has sent it back.
func TestFingerprint(t *testing.T) {
	if domain.Fingerprint("a\r\nb\rc\x00") != domain.Fingerprint("a\nb\nc\uFFFD") {
		t.Error("line ends count")
	}
	if domain.Fingerprint("a\nb") == domain.Fingerprint("a\n\nb") {
		t.Error("an empty line does not count")
	}
}
