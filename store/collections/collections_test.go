package collections_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/users"
)

// log creates a version with one file. Versions with different contents differ.
func (b *bed) log(t testing.TB, iteration, name, kind, content string, aliases ...string) collections.Version {
	t.Helper()
	path := collections.StagingPrefix + name + "/data.txt"
	b.Keep(t, b.Experiment, files.NewArtifact{Name: path, IterationID: iteration}, content)
	return b.logged(t, collections.NewVersion{IterationID: iteration, Collection: name, Type: kind, Aliases: aliases}, collections.StagingPrefix+name)
}

func (b *bed) logged(t testing.TB, n collections.NewVersion, from string) collections.Version {
	t.Helper()
	return b.version(t, must(b.Collections.LogVersion(ctx, domain.System, n, from))(t).ID)
}

func (b *bed) version(t testing.TB, id string) collections.Version {
	t.Helper()
	return must(b.Collections.Version(ctx, domain.System, id))(t)
}

func (b *bed) find(t testing.TB, q collections.Search) string {
	t.Helper()
	q.ProjectID, q.Page = b.Project, domain.FirstPage
	var names []string
	for _, a := range must(b.Collections.Search(ctx, domain.System, q))(t).Data {
		names = append(names, a.Folder())
	}
	return strings.Join(names, " ")
}

// The alias latest follows the newest version. Another alias belongs to one version of a
// collection.
func TestAliases(t *testing.T) {
	b := newBed(t)
	first := b.log(t, b.Iteration, "net", "model", "1", "best")
	second := b.log(t, b.Iteration, "net", "model", "2", "best")
	other := b.log(t, b.Iteration, "data", "dataset", "1", "best")
	aliases := func(id string) string { return strings.Join(b.version(t, id).Aliases, " ") }
	if got := [3]string{aliases(first.ID), aliases(second.ID), aliases(other.ID)}; got != [3]string{"", "best latest", "best latest"} {
		t.Errorf("aliases %q", got)
	}
	must(b.Collections.UpdateVersion(ctx, domain.System, first.ID, collections.Patch{Aliases: []string{"best", collections.Latest, "old"}}))(t)
	if got := [2]string{aliases(first.ID), aliases(second.ID)}; got != [2]string{"best old", "latest"} {
		t.Errorf("aliases %q", got)
	}
	must(b.Collections.UpdateVersion(ctx, domain.System, second.ID, collections.Patch{Aliases: []string{}}))(t)
	if got := aliases(second.ID); got != "latest" {
		t.Errorf("aliases %q", got)
	}
	must(b.Collections.DeleteVersion(ctx, domain.System, second.ID, false))(t)
	if got := aliases(first.ID); got != "best latest old" {
		t.Errorf("after the deletion of the latest version the aliases are %q", got)
	}
	if third := b.log(t, b.Iteration, "net", "model", "3"); third.Version != 2 || aliases(first.ID) != "best old" {
		t.Errorf("version %d; the first version has the aliases %q", third.Version, aliases(first.ID))
	}
	for _, p := range []collections.Patch{{Add: []string{"v7"}}, {Aliases: []string{""}}, {AddTags: []string{" "}},
		{Tags: make([]string, collections.MaxTags+1)}, {Aliases: make([]string, domain.MaxLimit+1)}} {
		_, err := b.Collections.UpdateVersion(ctx, domain.System, first.ID, p)
		wantCode(t, err, domain.CodeInvalidPayload)
	}
	_, err := b.Collections.UpdateVersion(ctx, domain.System, second.ID, collections.Patch{Add: []string{"x"}})
	wantCode(t, err, domain.CodeConflict)
	wantClean(t, b.DB)
}

// Tags are added and removed one by one, or replaced. Their number is limited.
func TestTags(t *testing.T) {
	b := newBed(t)
	a := b.log(t, b.Iteration, "net", "model", "1")
	for _, s := range []struct {
		patch collections.Patch
		want  string
	}{
		{collections.Patch{AddTags: []string{"b", "a", "a"}}, "a b"},
		{collections.Patch{AddTags: []string{"c"}, RemoveTags: []string{"a", "none"}}, "b c"},
		{collections.Patch{Tags: []string{"d", "c"}}, "c d"},
		{collections.Patch{Description: new("text")}, "c d"},
		{collections.Patch{Tags: []string{}}, ""},
	} {
		changed := must(b.Collections.UpdateVersion(ctx, domain.System, a.ID, s.patch))(t)
		if got := strings.Join(changed.Tags, " "); got != s.want {
			t.Errorf("%+v: tags %q, want %q", s.patch, got, s.want)
		}
	}
	var many []string
	for i := range collections.MaxTags {
		many = append(many, fmt.Sprint(i))
	}
	must(b.Collections.UpdateVersion(ctx, domain.System, a.ID, collections.Patch{Tags: many}))(t)
	_, err := b.Collections.UpdateVersion(ctx, domain.System, a.ID, collections.Patch{AddTags: []string{"more"}})
	wantCode(t, err, domain.CodeInvalidPayload)
}

// Search finds versions by type, name, alias, tag and metadata, and pages are bounded.
func TestSearch(t *testing.T) {
	b := newBed(t)
	data := b.log(t, b.Iteration, "data", "dataset", "1", "clean")
	net := b.log(t, b.Iteration, "net", "model", "1")
	b.log(t, b.NewIteration(t), "net", "model", "2", "best")
	must(b.Collections.UpdateVersion(ctx, domain.System, data.ID, collections.Patch{
		AddTags: []string{"raw"}, Metadata: new(`{"rows": 100, "full": true, "from": "a.csv", "deep": {"x": 1}}`)}))(t)
	must(b.Collections.UpdateVersion(ctx, domain.System, net.ID, collections.Patch{Metadata: new(`{"loss": NaN}`)}))(t)
	for _, s := range []struct {
		q    collections.Search
		want string
	}{
		{collections.Search{}, "net:v1 net:v0 data:v0"},
		{collections.Search{Type: "model"}, "net:v1 net:v0"},
		{collections.Search{Name: "net", Alias: "v0"}, "net:v0"},
		{collections.Search{Alias: "latest"}, "net:v1 data:v0"},
		{collections.Search{Tag: "raw"}, "data:v0"},
		{collections.Search{Metadata: []collections.Pair{{"rows", "100"}, {"full", "true"}, {"from", "a.csv"}}}, "data:v0"},
		{collections.Search{Metadata: []collections.Pair{{"rows", "1"}}}, ""},
		{collections.Search{Metadata: []collections.Pair{{"loss", "NaN"}}}, ""},
	} {
		if got := b.find(t, s.q); got != s.want {
			t.Errorf("%+v: %q, want %q", s.q, got, s.want)
		}
	}
	q := collections.Search{ExperimentID: b.Experiment, Page: domain.Page{Limit: 1, Offset: 1}}
	if l := must(b.Collections.Search(ctx, domain.System, q))(t); l.Total != 3 || len(l.Data) != 1 || l.Data[0].ID != net.ID {
		t.Errorf("a page with %d of %d versions", len(l.Data), l.Total)
	}
	q.Metadata = make([]collections.Pair, 11)
	_, err := b.Collections.Search(ctx, domain.System, q)
	wantCode(t, err, domain.CodeInvalidPayload)
	for name, want := range map[string]string{"net": "net:v1", "net:v0": "net:v0", "net:best": "net:v1", "data:clean": "data:v0"} {
		if a := must(b.Collections.Named(ctx, domain.System, b.Project, "", name))(t); a.Folder() != want {
			t.Errorf("%s is %s", name, a.Folder())
		}
	}
	_, err = b.Collections.Named(ctx, domain.System, b.Project, "", "net:none")
	wantCode(t, err, domain.CodeNotFound)
	_, err = b.Collections.Named(ctx, domain.System, b.Project, "", "net:")
	wantCode(t, err, domain.CodeInvalidPayload)
	err = b.View(ctx, domain.System, func(v *storeView) error {
		l, err := v.Collections.Collections(b.Project, "", domain.FirstPage)
		if err == nil && (l.Total != 2 || l.Data[1].Name != "net" || l.Data[1].Versions != 2 || l.Data[1].Latest != 1) {
			t.Errorf("collections %+v", l)
		}
		return err
	})
	wantOK(t, err)
}

// LogVersion copies files that the run keeps, and removes staged files. Equal files are one
// version.
func TestLogVersion(t *testing.T) {
	b := newBed(t)
	keep := func(name, content string) {
		t.Helper()
		b.Keep(t, b.Experiment, files.NewArtifact{Name: name, IterationID: b.Iteration}, content)
	}
	keep("out/a.txt", "old")
	keep("out/a.txt", "a")
	keep("out/deep/b.txt", "b")
	keep("outside.txt", "c")
	n := collections.NewVersion{IterationID: b.Iteration, Collection: "out", Type: "dataset", Metadata: `{"n": 1}`, Tags: []string{"t"}}
	first := b.logged(t, n, "out")
	if first.State != collections.Committed || first.Files != 2 || first.Size != 2 || !slices.Equal(first.Tags, []string{"t"}) {
		t.Errorf("the version is %+v", first)
	}
	keep(collections.StagingPrefix+"x/a.txt", "a")
	keep(collections.StagingPrefix+"x/deep/b.txt", "b")
	same := b.logged(t, n, collections.StagingPrefix+"x")
	if same.ID != first.ID {
		t.Error("equal files became another version")
	}
	n.Collection = "one"
	one := b.logged(t, n, "outside.txt")
	if n := b.filesIn(t, collections.StagingPrefix); n != 0 {
		t.Errorf("%d staged files are left", n)
	}
	if n := b.filesIn(t, "out/"); n != 3 {
		t.Errorf("the run has %d of its files", n)
	}
	var names []string
	wantOK(t, b.View(ctx, domain.System, func(v *storeView) error {
		for _, id := range []string{first.ID, one.ID} {
			l, err := v.Collections.Files(id, domain.FirstPage)
			if err != nil {
				return err
			}
			for _, f := range l.Data {
				names = append(names, f.Name)
			}
		}
		return nil
	}))
	if want := []string{"a.txt", "deep/b.txt", "outside.txt"}; !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	for path, code := range map[string]domain.Code{"none": domain.CodeInvalidPayload, "../x": domain.CodeInvalidPayload, "": domain.CodeInvalidPayload} {
		_, err := b.Collections.LogVersion(ctx, domain.System, n, path)
		wantCode(t, err, code)
	}
	wantClean(t, b.DB)
}

func TestDifference(t *testing.T) {
	b := newBed(t)
	var all []collections.Version
	for i, contents := range []map[string]string{{"a": "1", "b": "1", "c": "1"}, {"b": "2", "c": "1", "d": "1"}} {
		for name, content := range contents {
			b.Keep(t, b.Experiment, files.NewArtifact{Name: fmt.Sprint(i, "/", name), IterationID: b.Iteration}, content)
		}
		all = append(all, b.logged(t, collections.NewVersion{
			IterationID: b.Iteration, Collection: "data", Type: "dataset", Metadata: fmt.Sprintf(`{"same": 1, "n": %d, "only%d": []}`, i, i)}, fmt.Sprint(i)))
	}
	wantOK(t, b.View(ctx, domain.System, func(v *storeView) error {
		before, ok, err := v.Collections.Before(all[1])
		if err != nil || !ok || before.ID != all[0].ID {
			t.Errorf("before is %+v (%v)", before, err)
		}
		if _, ok, _ := v.Collections.Before(all[0]); ok {
			t.Error("there is a version before the first one")
		}
		d, err := v.Collections.Difference(before, all[1])
		if got, want := fmt.Sprint(d.Added, d.Removed, d.Changed, d.Metadata), "[d] [a] [b] [{n 0 1} {only0 [] } {only1  []}]"; got != want {
			t.Errorf("difference %s, want %s", got, want)
		}
		return err
	}))
}

// lineage returns the edges of a graph, sorted, with the names of the records.
func (b *bed) lineage(t testing.TB, actor domain.Actor, q collections.LineageQuery) (edges string, g collections.Graph) {
	t.Helper()
	g = must(b.Collections.Lineage(ctx, actor, q))(t)
	names := map[collections.NodeRef]string{}
	for _, n := range g.Nodes {
		names[n.NodeRef] = n.Name
	}
	var all []string
	for _, e := range g.Edges {
		all = append(all, fmt.Sprintf("%s-%s>%s", names[e.From], e.Role, names[e.To]))
	}
	slices.Sort(all)
	return strings.Join(all, "\n"), g
}

func (b *bed) run(t testing.TB, experiment, name string, parent *string) string {
	t.Helper()
	return must(b.Runs.CreateIteration(ctx, domain.System, experiment, runs.NewIteration{Name: &name, ParentIterationID: parent}))(t).ID
}

func TestLineage(t *testing.T) {
	b := newBed(t)
	sweep := b.run(t, b.Experiment, "sweep", nil)
	prepare, train, beside, eval := b.run(t, b.Experiment, "prepare", nil), b.run(t, b.Experiment, "train", &sweep), b.run(t, b.Experiment, "beside", nil), b.run(t, b.Experiment, "eval", nil)
	data := b.log(t, prepare, "data", "dataset", "1")
	for _, run := range []string{train, beside} {
		must(b.Collections.UseVersion(ctx, domain.System, data.ID, run))(t)
	}
	net := b.log(t, train, "net", "model", "1")
	logged := must(b.Models.CreateLoggedModel(ctx, domain.System, b.Experiment, registry.NewLoggedModel{Name: "logged", IterationID: train}))(t).ID
	wantOK(t, b.Runs.LogIteration(ctx, domain.System, train, runs.IterationLog{Datasets: []runs.DatasetUse{{Name: "iris", Digest: "d"}},
		Models: []registry.LoggedModelUse{{ModelID: logged, Role: registry.OutputModel}}}))
	wantOK(t, b.Runs.LogIteration(ctx, domain.System, eval, runs.IterationLog{Models: []registry.LoggedModelUse{{ModelID: logged, Role: registry.InputModel}}}))
	model := newModel(t, b.Bed, b.Project, "m")
	file := must(b.Files.Artifacts(ctx, domain.System, b.Experiment, files.ArtifactQuery{Name: net.Folder(), Page: domain.FirstPage}))(t).Data[0].ID
	must(b.Models.CreateModelVersion(ctx, domain.System, model, registry.NewModelVersion{IterationID: train, ArtifactID: &file}))(t)
	v2 := must(b.Models.CreateModelVersion(ctx, domain.System, model, registry.NewModelVersion{IterationID: train, Source: "models:/" + logged}))(t).ID
	v3 := must(b.Models.CreateModelVersion(ctx, domain.System, model, registry.NewModelVersion{IterationID: beside}))(t).ID

	for _, s := range []struct {
		kind collections.NodeKind
		id   string
		want string
	}{
		{collections.RunNode, train, `data:v0-used>train
iris-used>train
logged-registered>m v2
logged-used>eval
net:v0-registered>m v1
prepare-logged>data:v0
sweep-parent>train
train-logged>logged
train-logged>net:v0`},
		{collections.VersionNode, net.ID, `data:v0-used>train
iris-used>train
net:v0-registered>m v1
prepare-logged>data:v0
sweep-parent>train
train-logged>net:v0`},
		{collections.ModelVersionNode, v2, `data:v0-used>train
iris-used>train
logged-registered>m v2
prepare-logged>data:v0
sweep-parent>train
train-logged>logged`},
		{collections.ModelVersionNode, v3, "beside-registered>m v3\ndata:v0-used>beside\nprepare-logged>data:v0"},
	} {
		got, g := b.lineage(t, domain.System, collections.LineageQuery{NodeRef: collections.NodeRef{Kind: s.kind, ID: s.id}})
		if got != s.want || g.Cut || g.Nodes[0].ID != s.id {
			t.Errorf("%s: cut %v, got\n%s\nwant\n%s", s.kind, g.Cut, got, s.want)
		}
	}
	root := collections.NodeRef{Kind: collections.RunNode, ID: train}
	if got, g := b.lineage(t, domain.System, collections.LineageQuery{NodeRef: root, Depth: 1}); !g.Cut || strings.Contains(got, "prepare") || !strings.Contains(got, "sweep-parent>train") {
		t.Errorf("depth 1: cut %v, got\n%s", g.Cut, got)
	}
	if _, g := b.lineage(t, domain.System, collections.LineageQuery{NodeRef: root, Limit: 3}); !g.Cut || len(g.Nodes) != 3 {
		t.Errorf("limit 3: cut %v, %d nodes", g.Cut, len(g.Nodes))
	}
	for _, q := range []collections.LineageQuery{{NodeRef: root, Depth: collections.MaxDepth + 1}, {NodeRef: root, Limit: collections.MaxNodes + 1}} {
		_, err := b.Collections.Lineage(ctx, domain.System, q)
		wantCode(t, err, domain.CodeInvalidPayload)
	}
	for _, none := range []collections.NodeRef{{Kind: "x", ID: train}, {Kind: collections.RunNode, ID: "\xff"}} {
		_, err := b.Collections.Lineage(ctx, domain.System, collections.LineageQuery{NodeRef: none})
		wantCode(t, err, domain.CodeNotFound)
	}
	_, err := b.Collections.Lineage(ctx, domain.System, collections.LineageQuery{NodeRef: collections.NodeRef{Kind: collections.VersionNode, ID: train}})
	wantCode(t, err, domain.CodeNotFound)
}

// A graph has at most MaxNodes records. It says when it is cut.
func TestLineageOfManyRuns(t *testing.T) {
	b := newBed(t)
	data := b.log(t, b.Iteration, "data", "dataset", "1")
	for range collections.MaxNodes {
		must(b.Collections.UseVersion(ctx, domain.System, data.ID, b.NewIteration(t)))(t)
	}
	_, g := b.lineage(t, domain.System, collections.LineageQuery{NodeRef: collections.NodeRef{Kind: collections.VersionNode, ID: data.ID}})
	if !g.Cut || len(g.Nodes) != collections.MaxNodes {
		t.Errorf("cut %v, %d nodes", g.Cut, len(g.Nodes))
	}
}

// A record in a project that the user can't read is omitted, with the records behind it.
func TestLineageRights(t *testing.T) {
	b := newBed(t)
	hidden := must(b.Projects.CreateProject(ctx, domain.System, domain.NewProject{Name: "hidden"}))(t).ID
	experiment := must(b.Projects.CreateExperiment(ctx, domain.System, hidden, newExperiment("e")))(t).ID
	train := b.run(t, b.Experiment, "train", nil)
	far := b.run(t, experiment, "far", nil)
	data := b.log(t, b.Iteration, "data", "dataset", "1")
	for _, run := range []string{train, far} {
		must(b.Collections.UseVersion(ctx, domain.System, data.ID, run))(t)
	}
	user := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: "reader", Password: "long password"}))(t).ID
	actor := domain.Actor{UserID: user}
	root := collections.LineageQuery{NodeRef: collections.NodeRef{Kind: collections.VersionNode, ID: data.ID}}
	_, err := b.Collections.Lineage(ctx, actor, root)
	wantCode(t, err, domain.CodeProjectPermissionRequired)
	_, err = b.Collections.Search(ctx, actor, collections.Search{ProjectID: b.Project})
	wantCode(t, err, domain.CodeProjectPermissionRequired)
	must(b.Users.CreateUserPermission(ctx, domain.System, user, b.Project, users.PermissionPatch{Read: new(true)}))(t)
	if _, g := b.lineage(t, actor, root); len(g.Nodes) != 3 || g.Cut {
		t.Errorf("a reader sees %+v", g.Nodes)
	}
	if _, g := b.lineage(t, domain.System, root); len(g.Nodes) != 4 {
		t.Errorf("the system sees %+v", g.Nodes)
	}
	if used := must(b.Collections.Users(ctx, actor, data.ID))(t); len(used) != 1 {
		t.Errorf("a reader sees the users %q", used)
	}
	for _, write := range []func() error{
		func() error {
			_, err := b.Collections.UpdateVersion(ctx, actor, data.ID, collections.Patch{})
			return err
		},
		func() error { _, err := b.Collections.DeleteVersion(ctx, actor, data.ID, true); return err },
		func() error { _, err := b.Collections.UseVersion(ctx, actor, data.ID, train); return err },
		func() error {
			_, err := b.Collections.LogVersion(ctx, actor, collections.NewVersion{IterationID: train, Collection: "x", Type: "t"}, "x")
			return err
		},
	} {
		wantCode(t, write(), domain.CodeProjectPermissionRequired)
	}
}
