package mlflow

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/runs"
)

// Some tags are stored in fields of a run, so that tag and field can't differ. All other tags are
// stored as properties.
const (
	tagRunName   = "mlflow.runName"            // name of a run
	tagNote      = "mlflow.note.content"       // notes of a run, or description of an experiment
	tagParent    = "mlflow.parentRunId"        // parent of a run, if both are in the same experiment
	tagSource    = "mlflow.source.name"        // entrypoint in the snapshot
	tagCommit    = "mlflow.source.git.commit"  // commit in the snapshot
	tagGitRemote = "mlflow.source.git.repoURL" // git remote in the snapshot
	tagUser      = filter.UserProperty         // property; also shown as the user_id of a run. See userOf.
	tagContext   = "mlflow.data.context"       // tag of a dataset, which says how a run uses it
	tagLocation  = "mlflow.artifactLocation"   // artifact location that a client has set for an experiment; not shown as a tag
	tagHistory   = "mlflow.log-model.history"  // property; lists the models logged by clients before MLflow 3.0
	maxKey       = 250                         // in characters
	maxTag       = 8000                        // in characters; longer values are truncated
	maxParam     = 6000                        // in characters; longer values are truncated
	maxExpTag    = 20_000                      // in characters
	maxBatch     = 1000                        // maximum number of metrics in a batch, and of metrics, params and tags together
	maxBatchTags = 100                         // maximum number of tags in a batch, and of params
)

// tag is a tag or parameter in a request or response.
type tag struct {
	Key   text `json:"key"`
	Value text `json:"value"`
}

// pair is a tag or parameter in a response.
type pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// pairsOf converts properties to pairs for a response.
func pairsOf(all []domain.Property) []pair {
	pairs := slices.Grow([]pair(nil), len(all))
	for _, p := range all {
		pairs = append(pairs, pair(p))
	}
	return pairs
}

// cut returns the first n characters of s.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}

// checkKey returns an error if the key of a metric, parameter or tag is invalid. A key can
// contain letters and digits of any alphabet, spaces, and the characters _ . - : and /. No part
// between slashes can be empty, "." or "..".
func checkKey(key string) error {
	if key == "" {
		return need("key", "")
	}
	if utf8.RuneCountInString(key) > maxKey {
		return domain.Invalid("key", "The key %q has more than %d characters.", cut(key, 40)+"…", maxKey)
	}
	for _, r := range key {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && !strings.ContainsRune("_.-:/ ", r) {
			return domain.Invalid("key", "Invalid key %q: use only letters, digits, underscores, dashes, periods, spaces, colons and slashes.", key)
		}
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." {
			return domain.Invalid("key", "Invalid key %q: as a path it must not begin or end with a slash, nor have a part that is empty, \".\" or \"..\".", key)
		}
	}
	return nil
}

// noTag returns the error for the removal of a tag that does not exist.
func noTag(key string) error {
	return domain.Errorf(domain.CodeNotFound, "There is no tag %q.", key)
}

// runFields holds tags of a run by the field in which they are stored.
type runFields struct {
	name, notes, parent *string
	snapshot            *runs.SnapshotPatch
	properties          []domain.Property
}

// sortTags converts tags to the fields in which they are stored. If a tag is repeated, its last
// value is used. experimentID is "" if the run's experiment is unknown.
func (c *call) sortTags(experimentID string, tags []tag) (f runFields, err error) {
	snapshot := func() *runs.SnapshotPatch {
		if f.snapshot == nil {
			f.snapshot = new(runs.SnapshotPatch)
		}
		return f.snapshot
	}
	for _, t := range tags {
		if err := checkKey(string(t.Key)); err != nil {
			return f, err
		}
		value := cut(string(t.Value), maxTag)
		switch t.Key {
		case tagRunName:
			f.name = &value
		case tagNote:
			f.notes = &value
		case tagSource:
			snapshot().Entrypoint = &value
		case tagCommit:
			snapshot().GitSHA = &value
		case tagGitRemote:
			snapshot().GitRemote = &value
		case tagParent:
			parent, err := c.db.Runs.Iteration(c.ctx, c.actor, expand(value))
			if err != nil || experimentID != parent.ExperimentID {
				f.properties = setProperty(f.properties, string(t.Key), value)
				continue
			}
			f.parent = &parent.ID
		default:
			f.properties = setProperty(f.properties, string(t.Key), value)
		}
	}
	return f, nil
}

// setProperty returns all with the value of key set.
func setProperty(all []domain.Property, key, value string) []domain.Property {
	i := slices.IndexFunc(all, func(p domain.Property) bool { return p.Key == key })
	if i < 0 {
		return append(all, domain.Property{Key: key, Value: value})
	}
	all[i].Value = value
	return all
}

// userOf returns the value of the tag mlflow.user of a run. If no client has set the tag, it is the
// name of the account that created the run. ok is false if there is none. Searches use the same rule,
// see filter.User.
func userOf(r *runs.IterationRecord) (user string, ok bool) {
	for _, p := range r.Properties {
		if p.Key == tagUser {
			return p.Value, true
		}
	}
	if r.CreatedBy != nil {
		return *r.CreatedBy, true
	}
	return "", false
}

// tagsOf returns the tags of a run, sorted by key.
func tagsOf(r *runs.IterationRecord, parent string) []pair {
	tags := make([]pair, 0, len(r.Properties)+6)
	add := func(key, value string) {
		if value != "" {
			tags = append(tags, pair{key, value})
		}
	}
	add(tagRunName, r.Name)
	add(tagNote, r.Notes)
	add(tagParent, parent)
	if s := r.Snapshot; s != nil {
		add(tagSource, s.Entrypoint)
		add(tagCommit, s.GitSHA)
		add(tagGitRemote, s.GitRemote)
	}
	for _, p := range r.Properties {
		if (p.Key != tagParent || parent == "") && p.Key != tagUser {
			tags = append(tags, pair(p))
		}
	}
	if user, ok := userOf(r); ok {
		tags = append(tags, pair{tagUser, user})
	}
	slices.SortFunc(tags, func(a, b pair) int { return cmp.Compare(a.Key, b.Key) })
	return tags
}

type runTag struct {
	runRef
	tag
}

func (c *call) setTag(in runTag) error {
	return c.logBatch(batch{runRef: in.runRef, Tags: []tag{in.tag}})
}

func (c *call) deleteTag(in runTag) error {
	id, err := in.id()
	if err != nil {
		return err
	}
	if err := need("key", string(in.Key)); err != nil {
		return err
	}
	return c.activeRun(id, c.removeTag(id, string(in.Key)))
}

// removeTag removes a tag of a run. If the tag is stored in a field of the run, removeTag clears
// that field.
func (c *call) removeTag(id, key string) error {
	if key == tagRunName {
		return domain.Invalid("key", "A run must have a name; change it instead.")
	}
	none := new(string)
	field, ok := map[string]runs.IterationLog{
		tagNote:      {Notes: none},
		tagSource:    {Snapshot: &runs.SnapshotPatch{Entrypoint: none}},
		tagCommit:    {Snapshot: &runs.SnapshotPatch{GitSHA: none}},
		tagGitRemote: {Snapshot: &runs.SnapshotPatch{GitRemote: none}},
		tagParent:    {Parent: none},
	}[key]
	if !ok {
		return c.db.Runs.DeleteProperty(c.ctx, c.actor, runs.IterationProperty, id, key)
	}
	var r runs.IterationRecord
	err := c.db.View(c.ctx, c.actor, func(v *store.View) (err error) {
		r, err = v.Runs.IterationRecord(id)
		return err
	})
	switch {
	case err != nil:
		return err
	case key == tagParent && r.ParentIterationID == nil:
		return c.db.Runs.DeleteProperty(c.ctx, c.actor, runs.IterationProperty, id, key)
	case key != tagParent && !slices.ContainsFunc(tagsOf(&r, ""), func(p pair) bool { return p.Key == key }):
		return noTag(key)
	}
	return c.db.Runs.LogIteration(c.ctx, c.actor, id, field)
}
