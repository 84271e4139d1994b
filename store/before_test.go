package store_test

import (
	"testing"

	"tracker/store"
)

// A field that somebody else has changed since is not overwritten, and nothing
// else of the patch happens; what is as it was seen can be changed, and what both
// want the same is no conflict.
func TestBefore(t *testing.T) {
	r := newRegistry(t)
	version := r.version(t, r.model, r.iteration, nil)
	user := must(r.CreateUser(ctx, store.System, store.NewUser{Username: "eve", Password: "long enough"}))(t).ID
	for name, record := range map[string]struct {
		field  string
		update func(value *string, b store.Before, other *string) error
		read   func() (value, other string)
	}{
		"project": {"description", func(v *string, b store.Before, other *string) error {
			return r.UpdateProject(ctx, store.System, r.project, store.ProjectPatch{Name: other, Description: v, Before: b})
		}, func() (string, string) {
			p := must(r.Project(ctx, store.System, r.project))(t)
			return p.Description, p.Name
		}},
		"experiment": {"name", func(v *string, b store.Before, other *string) error {
			return r.UpdateExperiment(ctx, store.System, r.experiment, store.ExperimentPatch{Name: v, Description: other, Before: b})
		}, func() (string, string) {
			e := must(r.Experiment(ctx, store.System, r.experiment))(t)
			return e.Name, e.Description
		}},
		"iteration": {"notes", func(v *string, b store.Before, other *string) error {
			return r.UpdateIteration(ctx, store.System, r.iteration, store.IterationPatch{Name: other, Notes: v, Before: b})
		}, func() (string, string) {
			i := must(r.Iteration(ctx, store.System, r.iteration))(t)
			return i.Notes, i.Name
		}},
		"model": {"name", func(v *string, b store.Before, other *string) error {
			return r.UpdateModel(ctx, store.System, r.model, store.ModelPatch{Name: v, Description: other, Before: b})
		}, func() (string, string) {
			m := must(r.Model(ctx, store.System, r.model))(t)
			return m.Name, m.Description
		}},
		"version": {"description", func(v *string, b store.Before, other *string) error {
			return r.UpdateModelVersion(ctx, store.System, version, store.ModelVersionPatch{Description: v, Before: b})
		}, func() (string, string) {
			return must(r.ModelVersion(ctx, store.System, version))(t).Description, "after"
		}},
		"user": {"last_name", func(v *string, b store.Before, other *string) error {
			return r.UpdateUser(ctx, store.System, user, store.UserPatch{FirstName: other, LastName: v, Before: b})
		}, func() (string, string) {
			u := must(r.User(ctx, store.System, user))(t)
			return u.LastName, u.FirstName
		}},
	} {
		t.Run(name, func(t *testing.T) {
			before, _ := record.read()
			seen := store.Before{record.field: store.Fingerprint(before)}
			wantOK(t, record.update(new("theirs"), nil, new("before")))
			err := record.update(new("mine"), seen, new("after"))
			wantCode(t, err, store.CodeConflict)
			if field := store.AsError(err).Field; field != record.field {
				t.Errorf("it is about %q", field)
			}
			if value, other := record.read(); value != "theirs" || other == "after" && name != "version" {
				t.Errorf("%q and %q were stored", value, other)
			}
			wantOK(t, record.update(new("theirs"), seen, nil))
			wantOK(t, record.update(nil, seen, new("after")))
			wantOK(t, record.update(new("mine"), store.Before{record.field: store.Fingerprint("theirs")}, nil))
			if value, other := record.read(); value != "mine" || other != "after" {
				t.Errorf("%q and %q are stored", value, other)
			}
		})
	}
	wantOK(t, r.UpdateExperiment(ctx, store.System, r.experiment, store.ExperimentPatch{Status: new(store.Finished)}))
	wantCode(t, r.UpdateExperiment(ctx, store.System, r.experiment, store.ExperimentPatch{Status: new(store.Stopped),
		Before: store.Before{"status": store.Fingerprint(string(store.InProgress))}}), store.CodeConflict)
}

// A text is equal to the form in which a browser sends it back.
func TestFingerprint(t *testing.T) {
	if store.Fingerprint("a\r\nb\rc\x00") != store.Fingerprint("a\nb\nc\uFFFD") {
		t.Error("line ends count")
	}
	if store.Fingerprint("a\nb") == store.Fingerprint("a\n\nb") {
		t.Error("an empty line does not count")
	}
}
