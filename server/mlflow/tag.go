package mlflow

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/runs"
)

// The tags whose values are stored as other fields of a run. They are written to
// and read from these fields, so that there is only one value. All other tags are
// properties.
const (
	tagRunName   = "mlflow.runName"            // the name
	tagNote      = "mlflow.note.content"       // the notes of a run, or the description of an experiment
	tagParent    = "mlflow.parentRunId"        // the parent, if it is a run of the same experiment
	tagSource    = "mlflow.source.name"        // the entrypoint in the snapshot
	tagCommit    = "mlflow.source.git.commit"  // the commit in the snapshot
	tagGitRemote = "mlflow.source.git.repoURL" // the remote in the snapshot
	tagUser      = "mlflow.user"               // a property; also the user_id of a run
	tagContext   = "mlflow.data.context"       // on the use of a dataset
	tagLocation  = "mlflow.artifactLocation"   // on an experiment whose client has set the location; not shown as a tag
	tagHistory   = "mlflow.log-model.history"  // a property; the models of clients before 3.0
	maxKey       = 250                         // characters
	maxTag       = 8000                        // characters; longer values are cut
	maxParam     = 6000                        // characters; longer values are cut
	maxExpTag    = 20_000                      // characters
	maxBatch     = 1000                        // metrics in a batch, and metrics, params and tags together
	maxBatchTags = 100                         // tags in a batch, and params
)

// tag is a tag or a parameter in a request or an answer.
type tag struct {
	Key   text `json:"key"`
	Value text `json:"value"`
}

// pair is a tag or a parameter in an answer.
type pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// pairsOf returns properties for an answer.
func pairsOf(all []domain.Property) []pair {
	pairs := slices.Grow([]pair(nil), len(all))
	for _, p := range all {
		pairs = append(pairs, pair(p))
	}
	return pairs
}

// cut returns the first n characters of a text.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}

// checkKey checks the key of a metric, parameter or tag. It may contain letters and
// digits of any alphabet, _ . - : / and space. As a path it must be in its shortest
// form.
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

// noTag returns the error for removing a tag that does not exist.
func noTag(key string) error {
	return domain.Errorf(domain.CodeNotFound, "There is no tag %q.", key)
}

// runFields holds the fields in which the tags of a run are stored.
type runFields struct {
	name, notes, parent *string
	snapshot            *runs.SnapshotPatch
	properties          []domain.Property
}

// sortTags returns the fields in which the tags of a run are stored. The last value
// of a repeated tag is used. experimentID is "" if it is not known yet.
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

// setProperty sets the value of a key in a list.
func setProperty(all []domain.Property, key, value string) []domain.Property {
	i := slices.IndexFunc(all, func(p domain.Property) bool { return p.Key == key })
	if i < 0 {
		return append(all, domain.Property{Key: key, Value: value})
	}
	all[i].Value = value
	return all
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
		if p.Key != tagParent || parent == "" {
			tags = append(tags, pair(p))
		}
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

// removeTag removes a tag of a run, or empties the field in which it is stored.
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
