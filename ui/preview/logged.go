package preview

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/transfer"
	"tracker/ui/datatable"
)

// maxTables is the maximum number of tables that are shown as one.
const maxTables = 200

// artifactBytes is the approximate memory of the record of an artifact.
const artifactBytes = 500

// partsEnd matches the names of W&B's tables that consist of other tables.
var partsEnd = regexp.MustCompile(`\.(partitioned|joined)-table\.json$`)

// versionFolder matches the folder of a version of a W&B artifact.
var versionFolder = regexp.MustCompile(`^[^/]+:v\d+/`)

// IsTable reports whether an artifact is a table. The content of a JSON file with another name can
// also be a table.
func IsTable(r files.Artifact) bool {
	return KindOf(r) == Table || KindOf(r) == JSON && (strings.HasSuffix(r.Name, tableEnd) || partsEnd.MatchString(r.Name))
}

// TableScope selects the tables that are shown as one. The zero value selects only the table of the
// artifact.
type TableScope struct {
	Steps bool     // all steps of the run, or of the runs
	Runs  []string // runs whose tables of the same name are shown; nil for the run of the artifact
	Key   string   // column by which the tables of two runs are joined; "" to put the rows under each other
}

// tablePart is a table with its run and its step.
type tablePart struct {
	files.Artifact
	run  string // name
	step *int64
}

// errNotTable is the response for an artifact that is not a table.
var errNotTable = domain.Errorf(domain.CodeNotFound, "This artifact is not a table.")

// ReadTable returns the tables that the scope selects, as one table. It requires the right to read
// all of them.
func ReadTable(ctx context.Context, db *store.DB, cache *datatable.Cache, actor domain.Actor, r files.Artifact, s TableScope) (*datatable.Table, error) {
	l := tableLoader{ctx: ctx, db: db, cache: cache, actor: actor}
	if r.IterationID == nil || !s.Steps && len(s.Runs) == 0 {
		t, err := l.single(r)
		if errors.Is(err, datatable.ErrNotTable) {
			err = errNotTable
		}
		return t, err
	}
	parts, cut, err := l.chosen(r, s)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%q", s.Key)
	for _, p := range parts {
		key += fmt.Sprintf("\n%s %s %q", l.key(p.Artifact), fromOf(p.Artifact), p.run)
		if p.step != nil {
			key += " " + strconv.FormatInt(*p.step, 10)
		}
	}
	sum := sha256.Sum256([]byte(key + cut))
	return cache.Get(ctx, hex.EncodeToString(sum[:]), func() (*datatable.Table, error) {
		var all []datatable.Part
		byRun := map[string][]datatable.Part{}
		var runs []tablePart // the first part of each run
		rows := 0
		for _, p := range parts {
			if rows >= datatable.MaxRows {
				break
			}
			t, err := l.decode(p.Artifact, datatable.Options{})
			if errors.Is(err, datatable.ErrNotTable) || err != nil && domain.AsError(err).Code == domain.CodeNotFound {
				continue // deleted since, or damaged
			}
			if err != nil {
				return nil, err
			}
			rows += t.Rows
			part := datatable.Part{Table: t, Run: p.run, Step: p.step, From: fromOf(p.Artifact)}
			all = append(all, part)
			if byRun[*p.IterationID] == nil {
				runs = append(runs, p)
			}
			byRun[*p.IterationID] = append(byRun[*p.IterationID], part)
		}
		if s.Key == "" {
			t, err := datatable.Concat(ctx, all)
			if err == nil && cut != "" {
				t.Cut = strings.TrimSpace(t.Cut + " " + cut)
			}
			return t, err
		}
		if len(runs) != 2 {
			return nil, domain.Invalid("key", "Only the tables of two runs can be compared by a column.")
		}
		var sides, names [2]string
		var tables [2]*datatable.Table
		for i, run := range runs {
			if tables[i], err = datatable.Append(ctx, byRun[*run.IterationID]); err != nil {
				return nil, err
			}
			sides[i], names[i] = s.Key, run.run
		}
		if names[0] == names[1] {
			names[0], names[1] = names[0]+" (1)", names[1]+" (2)"
		}
		t, err := datatable.Join(ctx, tables[0], tables[1], sides, names)
		if errors.Is(err, datatable.ErrNoColumn) {
			err = domain.Invalid("key", "One of the tables has no column with this name. Choose another column.")
		}
		return t, err
	})
}

// tableLoader reads tables of a user.
type tableLoader struct {
	ctx   context.Context
	db    *store.DB
	cache *datatable.Cache
	actor domain.Actor
}

// made returns the artifacts of runs.
func (l tableLoader) made(runs ...string) (all []files.Artifact, more bool, err error) {
	err = l.db.View(l.ctx, l.actor, func(v *store.View) (err error) {
		all, more, err = v.Files.MadeArtifacts(runs)
		if err == nil {
			err = domain.Take(l.ctx, artifactBytes*int64(len(all)))
		}
		return err
	})
	return all, more, err
}

// chosen returns the tables that the scope selects, in the order of the runs and steps. The result
// cut says which tables are omitted.
func (l tableLoader) chosen(r files.Artifact, s TableScope) (parts []tablePart, cut string, err error) {
	ids := s.Runs
	if len(ids) == 0 {
		ids = []string{*r.IterationID}
	}
	all, more, err := l.made(append([]string{*r.IterationID}, ids...)...)
	if err != nil {
		return nil, "", err
	}
	byID := map[string]files.Artifact{}
	for _, a := range all {
		byID[a.ID] = a
	}
	media := mediaOf(all)
	at := slices.IndexFunc(media, func(m Medium) bool { return m.ID == r.ID })
	if at < 0 || media[at].Kind != Table {
		return nil, "", domain.Invalid("scope", "This table is not among the media that the run has logged, so there are no other steps to show.")
	}
	key := media[at].Key
	names := map[string]string{}
	err = l.db.View(l.ctx, l.actor, func(v *store.View) error {
		runs, err := v.Runs.IterationsByID(ids)
		for _, run := range runs {
			names[run.ID] = run.Name
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	for at, id := range ids {
		if names[id] == "" || slices.Contains(ids[:at], id) {
			continue
		}
		var own []Medium
		last := int64(-1)
		for _, m := range media {
			if m.Run == id && m.Kind == Table && m.Key == key {
				own = append(own, m)
				if m.Step != nil {
					last = max(last, *m.Step)
				}
			}
		}
		slices.SortStableFunc(own, func(a, b Medium) int {
			return slices.Compare([]int64{stepOf(a), a.Place}, []int64{stepOf(b), b.Place})
		})
		if !s.Steps && len(own) > 1 {
			grows, err := allIncrements(l.ctx, l.db, l.actor, id)
			if err != nil {
				return nil, "", err
			}
			own = slices.DeleteFunc(own, func(m Medium) bool {
				return stepOf(m) != last && !slices.ContainsFunc(grows, func(i increment) bool { return i.name == m.Name })
			})
		}
		for _, m := range own {
			parts = append(parts, tablePart{byID[m.ID], names[id], m.Step})
		}
	}
	switch {
	case len(parts) > maxTables:
		cut = fmt.Sprintf("Only the first %s of %s tables are shown.", humanize.Comma(maxTables), humanize.Comma(int64(len(parts))))
		parts = parts[:maxTables]
	case more:
		cut = "Only the newest files of the runs are considered."
	}
	return parts, cut, nil
}

func stepOf(m Medium) int64 {
	if m.Step == nil {
		return -1
	}
	return *m.Step
}

// key returns a text that determines the content of an artifact that is a table by itself.
func (l tableLoader) key(r files.Artifact) string {
	return fmt.Sprintf("%s %q %s", MediaType(r), mediaFolder(r), r.ContentHash)
}

// mediaFolder returns the folder of the media in the cells of a table of the Python client.
func mediaFolder(r files.Artifact) string {
	if r.IterationID == nil || KindOf(r) != Table {
		return ""
	}
	return stem(r.Name) + "/"
}

// fromOf identifies the run and the W&B artifact of a table. It is the field From of media in
// cells.
func fromOf(r files.Artifact) string {
	if r.IterationID == nil {
		return ""
	}
	return *r.IterationID + "/" + versionFolder.FindString(r.Name)
}

// single returns the table of an artifact. An increment has the rows of all increments before. A
// partitioned or joined table has the rows of its parts.
func (l tableLoader) single(r files.Artifact) (*datatable.Table, error) {
	parts, _, err := l.increments(r, datatable.MaxFile)
	if err != nil {
		return nil, err
	}
	key := l.key(r)
	for _, p := range parts {
		key += "\n" + l.key(p)
	}
	var beside []files.Artifact // the files of the same W&B artifact
	if folder := versionFolder.FindString(r.Name); r.IterationID != nil && partsEnd.MatchString(r.Name) {
		all, _, err := l.made(*r.IterationID)
		if err != nil {
			return nil, err
		}
		for _, a := range all {
			if strings.HasPrefix(a.Name, folder) && strings.HasSuffix(a.Name, tableEnd) {
				beside = append(beside, a)
				key += fmt.Sprintf("\n%q %s", a.Name, a.ContentHash)
			}
		}
		key += fmt.Sprintf("\n%q", r.Name)
	}
	sum := sha256.Sum256([]byte(key))
	return l.cache.Get(l.ctx, hex.EncodeToString(sum[:]), func() (*datatable.Table, error) {
		if len(parts) > 1 {
			return l.appended(parts)
		}
		t, of, err := l.decodeParts(r, datatable.Options{})
		if err != nil || of == nil {
			return t, err
		}
		return l.ofParts(r, of, beside)
	})
}

// ofParts returns the rows of a partitioned or joined table.
func (l tableLoader) ofParts(r files.Artifact, of *datatable.Parts, beside []files.Artifact) (*datatable.Table, error) {
	folder := versionFolder.FindString(r.Name)
	if len(of.Tables) == 0 {
		below := folder + strings.Trim(of.Folder, "/") + "/"
		parts := slices.DeleteFunc(slices.Clone(beside), func(a files.Artifact) bool { return !strings.HasPrefix(a.Name, below) })
		slices.SortFunc(parts, func(a, b files.Artifact) int { return strings.Compare(a.Name, b.Name) })
		return l.appended(parts[:min(len(parts), maxTables)])
	}
	var tables [2]*datatable.Table
	var names [2]string
	for i, name := range of.Tables {
		name = transfer.FitPath(strings.TrimPrefix(name, "/"))
		at := slices.IndexFunc(beside, func(a files.Artifact) bool { return a.Name == folder+name })
		if at < 0 {
			return nil, domain.Errorf(domain.CodeNotFound, "The table %q, which this table joins, is not among the files of the run.", name)
		}
		var err error
		if tables[i], err = l.decode(beside[at], datatable.Options{}); err != nil {
			return nil, err
		}
		names[i] = strings.TrimSuffix(name, tableEnd)
	}
	t, err := datatable.Join(l.ctx, tables[0], tables[1], of.Keys, names)
	if errors.Is(err, datatable.ErrNoColumn) {
		err = domain.Invalid("key", "The joined tables do not have the column by which they are joined.")
	}
	return t, err
}

// appended returns the rows of all tables. Files that are not tables are skipped.
func (l tableLoader) appended(parts []files.Artifact) (*datatable.Table, error) {
	var all []datatable.Part
	rows := 0
	for _, p := range parts {
		t, err := l.decode(p, datatable.Options{})
		if errors.Is(err, datatable.ErrNotTable) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, datatable.Part{Table: t})
		if rows += t.Rows; rows >= datatable.MaxRows {
			break
		}
	}
	return datatable.Append(l.ctx, all)
}

// decode returns the table in an artifact.
func (l tableLoader) decode(r files.Artifact, o datatable.Options) (*datatable.Table, error) {
	t, of, err := l.decodeParts(r, o)
	if err == nil && of != nil {
		err = datatable.ErrNotTable
	}
	return t, err
}

func (l tableLoader) decodeParts(r files.Artifact, o datatable.Options) (*datatable.Table, *datatable.Parts, error) {
	kind := KindOf(r)
	if kind != Table && kind != JSON {
		return nil, nil, datatable.ErrNotTable
	}
	_, data, err := l.db.Files.OpenArtifact(l.ctx, l.actor, r.ID)
	if err != nil {
		return nil, nil, err
	}
	defer data.Close()
	if kind == JSON {
		return datatable.DecodeJSON(l.ctx, data, o)
	}
	comma := ','
	if MediaType(r) == "text/tab-separated-values" {
		comma = '\t'
	}
	o.Folder = mediaFolder(r)
	t, err := datatable.DecodeCSV(l.ctx, data, comma, o)
	return t, nil, err
}

// tableHead is the number of bytes in which the columns of a large JSON table begin.
const tableHead = 4 << 10

// fillLargeTable shows the first rows of a JSON table that is too large for a tree. It returns
// false if the file is not a table. The reader is at its beginning afterwards.
func (v *Preview) fillLargeTable(ctx context.Context, data io.ReadSeeker, size int64) (bool, error) {
	head, err := io.ReadAll(io.LimitReader(data, tableHead))
	if err == nil {
		_, err = data.Seek(0, io.SeekStart)
	}
	if err != nil || !bytes.Contains(head, []byte(`"columns"`)) {
		return false, err
	}
	t, of, err := datatable.DecodeJSON(ctx, data, datatable.Options{Rows: tableRows})
	if err == nil && of == nil && v.showTable(t) {
		v.Note = "The first " + humanize.Comma(int64(len(v.Rows))) + " rows of " + humanize.IBytes(uint64(size))
		return true, nil
	}
	if err != nil && !errors.Is(err, datatable.ErrNotTable) {
		return false, err
	}
	_, err = data.Seek(0, io.SeekStart)
	return false, err
}

// MediaFinder finds the artifacts of media in the cells of tables.
type MediaFinder struct {
	byName map[string]*files.Artifact // by run and name, with and without extension and W&B's folder
}

// FindMedia returns a MediaFinder for cells with the given values of From. The cells of the table
// of r can have an empty From. FindMedia requires the right to read the runs.
func FindMedia(ctx context.Context, db *store.View, r files.Artifact, froms []string) (f MediaFinder, err error) {
	var runs []string
	for _, from := range append(froms, fromOf(r)) {
		if run, _, _ := strings.Cut(from, "/"); run != "" && !slices.Contains(runs, run) && len(runs) < maxTables {
			runs = append(runs, run)
		}
	}
	if len(runs) == 0 {
		return f, nil
	}
	all, _, err := db.Files.MadeArtifacts(runs)
	if err == nil {
		err = domain.Take(ctx, artifactBytes*int64(len(all)))
	}
	f.byName = map[string]*files.Artifact{}
	for i := range all {
		a := &all[i]
		rest := versionFolder.ReplaceAllString(a.Name, "")
		for _, name := range []string{a.Name, rest, stem(a.Name)} {
			f.byName[*a.IterationID+"/"+name] = a
		}
	}
	return f, err
}

// Find returns the artifact of a media cell in the table of r.
func (f MediaFinder) Find(r files.Artifact, c datatable.Cell) (files.Artifact, bool) {
	from := c.From
	if from == "" {
		from = fromOf(r)
	}
	run, folder, _ := strings.Cut(from, "/")
	path := transfer.FitPath(c.Text)
	for _, name := range []string{folder + path, path} {
		if a := f.byName[run+"/"+name]; a != nil {
			return *a, true
		}
	}
	return files.Artifact{}, false
}
