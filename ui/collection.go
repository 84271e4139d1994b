package ui

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/gorilla/mux"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/ui/lineage"
	"tracker/ui/plain"
)

// collectionsView is a list of the collections of an experiment or a project.
type collectionsView struct {
	Path   string
	Files  string // path of the list of the experiment's files, "" for a project
	Found  string
	Groups []collectionGroup // by type
	Pager  pager
	Lesson *lesson // nil if there are collections
}

type collectionGroup struct {
	Type string
	Rows []collectionRow
}

type collectionRow struct {
	collections.Collection
	Logged moment
}

// experimentCollections lists the collections of an experiment.
func (s *site) experimentCollections(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.show(w, r, user, http.StatusOK, func(db *store.View) (templ.Component, error) {
		e, p, err := s.experimentOf(db, idOf(r))
		if err != nil {
			return nil, err
		}
		v := collectionsView{Path: "/experiment/" + e.ID + "/collections", Files: "/experiment/" + e.ID + "/artifacts"}
		if err := s.fillCollections(db, r, user, p.ID, e.ID, &v); err != nil {
			return nil, err
		}
		f, err := s.inside(db, "Artifact versions of "+e.Name, user, place{projectID: p.ID, experimentID: e.ID})
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID}, {Name: "Artifact versions"}}
		return collectionsPage(f, v), err
	})
}

// projectCollections lists the collections of a project.
func (s *site) projectCollections(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.show(w, r, user, http.StatusOK, func(db *store.View) (templ.Component, error) {
		p, err := db.Projects.Project(idOf(r))
		if err != nil {
			return nil, err
		}
		v := collectionsView{Path: "/project/" + p.ID + "/collections"}
		if err := s.fillCollections(db, r, user, p.ID, "", &v); err != nil {
			return nil, err
		}
		f, err := s.inside(db, "Artifact versions of "+p.Name, user, place{projectID: p.ID})
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {Name: "Artifact versions"}}
		return collectionsPage(f, v), err
	})
}

// fillCollections reads a page of collections into v. If experimentID is "", it reads the
// collections of the project.
func (s *site) fillCollections(db *store.View, r *http.Request, user domain.User, projectID, experimentID string, v *collectionsView) error {
	page := pageOf(r.URL.Query())
	list, err := db.Collections.Collections(projectID, experimentID, page)
	if err != nil {
		return err
	}
	for _, c := range list.Data {
		if n := len(v.Groups); n == 0 || v.Groups[n-1].Type != c.Type {
			v.Groups = append(v.Groups, collectionGroup{Type: c.Type})
		}
		g := &v.Groups[len(v.Groups)-1]
		g.Rows = append(g.Rows, collectionRow{c, s.moment(c.UpdatedDate)})
	}
	v.Found = plain.Counted(list.Total, "artifact", "artifacts")
	v.Pager = newPager(url.Values{}, page, len(list.Data), list.Total)
	if list.Total == 0 {
		v.Lesson = &lesson{Python: "run.log_artifact(\"data\", name=\"flowers\", type=\"dataset\", aliases=[\"clean\"])\nflowers = run.use_artifact(\"flowers:clean\")\nflowers.download(\"flowers\")",
			Shell: strings.TrimRight(s.shellStart(s.apiURL(r), user).String(), "\n") + "\ncurl -fsS \"$API/artifactversion/project/" + projectID + "\""}
	}
	return nil
}

// collectionView is the view of the page of a version.
type collectionView struct {
	ID            string
	Name          string // such as model:v3
	Type          string
	Aliases       []string
	Tags          []string
	Description   string
	Metadata      string // indented
	Size          string
	Total         int // number of files
	Created       moment
	By            *string // user name of the creator; nil if unknown
	Run           link
	Users         []link // first runs that use the version
	MoreUsers     int
	Versions      []link // newest versions of the collection; the status of this version is "here"
	OtherVersions string // "" if Versions has all versions
	Files         []artifactRow
	Pager         pager
	Before        *link // version before, nil for the first
	Changes       collections.Difference
	Lineage       lineageView
	Commands      []command
	Rights        domain.Permission
	Form          collectionForm
}

// command is a command or script that a page shows for copying.
type command struct{ Name, Text string }

// collectionForm holds the input of the forms on the page of a version.
type collectionForm struct {
	Part        string // submitted form after an error: "aliases" or "text"; otherwise ""
	Aliases     string
	Tags        string
	Description string
	Metadata    string
	Wrong       *domain.Error
}

// wrong returns the error message for the given field, "" for none. Errors that concern no field of
// the form are listed under "".
func (f collectionForm) wrong(field string) string {
	e := f.Wrong
	if e != nil && (e.Field == "alias" || e.Field == "tag") {
		e = &domain.Error{Field: map[string]string{"alias": "aliases", "tag": "tags"}[e.Field], Message: e.Message}
	}
	return wrongOf(e, field, "aliases", "tags", "description", "metadata")
}

const (
	shownUsers    = 20 // maximum number of runs that use a version on its page
	shownVersions = 20 // maximum number of other versions on the page of a version
)

// collection shows the page of a version.
func (s *site) collection(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showCollection(w, r, user, http.StatusOK, collectionForm{})
}

func (s *site) showCollection(w http.ResponseWriter, r *http.Request, user domain.User, status int, form collectionForm) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		a, err := db.Collections.Committed(idOf(r))
		if err != nil {
			return nil, err
		}
		e, p, err := s.experimentOf(db, a.ExperimentID)
		if err != nil {
			return nil, err
		}
		v := collectionView{ID: a.ID, Name: a.Folder(), Type: a.Type, Aliases: a.Aliases, Tags: a.Tags, Description: a.Description,
			Metadata: indented(a.Metadata), Size: plain.Size(a.Size), Created: s.moment(a.CreatedDate), By: a.CreatedBy,
			Run: link{Name: a.Iteration, Path: "/iteration/" + a.IterationID}, Form: form, Commands: s.downloads(s.apiURL(r), user, p.Name, a)}
		if form.Wrong == nil {
			own := slices.DeleteFunc(slices.Clone(a.Aliases), func(alias string) bool { return alias == collections.Latest })
			v.Form = collectionForm{Aliases: strings.Join(own, ", "), Tags: strings.Join(a.Tags, ", "), Description: a.Description, Metadata: v.Metadata}
		}
		if v.Rights, err = db.Users.Rights(p.ID); err != nil {
			return nil, err
		}
		for _, fill := range []func() error{
			func() error { return s.fillVersionFiles(db, r, &v) },
			func() error { return fillOtherVersions(db, a, &v) },
			func() (err error) {
				v.Lineage, err = lineageOf(db, collections.NodeRef{Kind: collections.VersionNode, ID: a.ID})
				return err
			},
		} {
			if err := fill(); err != nil {
				return nil, err
			}
		}
		f, err := s.inside(db, a.Folder(), user, place{projectID: p.ID, experimentID: e.ID})
		f.InPlace, f.Module = true, "lineage.js"
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {e.Name, "/experiment/" + e.ID},
			{"Artifact versions", "/experiment/" + e.ID + "/collections"}, {Name: a.Folder()}}
		return collectionPage(f, v), err
	})
}

// indented returns a JSON text with one member per line. Text that is not JSON is returned
// unchanged.
func indented(text string) string {
	var b bytes.Buffer
	if text == "" || text == "{}" || stdjson.Indent(&b, []byte(text), "", "  ") != nil {
		return strings.TrimPrefix(text, "{}")
	}
	return b.String()
}

// fillVersionFiles reads a page of the files of a version into v.
func (s *site) fillVersionFiles(db *store.View, r *http.Request, v *collectionView) error {
	page := pageOf(r.URL.Query())
	list, err := db.Collections.Files(v.ID, page)
	if err != nil {
		return err
	}
	known := map[string]*link{strings.TrimPrefix(v.Run.Path, "/iteration/"): &v.Run}
	names := map[string]string{}
	var ids []string
	for _, file := range list.Data {
		names[file.ID], ids = file.Name, append(ids, file.ID)
	}
	all, err := db.Files.ArtifactsByID(ids)
	if err != nil {
		return err
	}
	for _, a := range all {
		row, err := s.artifactRow(db, a, known)
		if err != nil {
			return err
		}
		row.Name = names[a.ID]
		v.Files = append(v.Files, row)
	}
	v.Total, v.Pager = list.Total, newPager(url.Values{}, page, len(list.Data), list.Total)
	return nil
}

// fillOtherVersions reads the users of version a, the other versions of its collection, and the
// changes since the version before into v.
func fillOtherVersions(db *store.View, a collections.Version, v *collectionView) error {
	users, err := db.Collections.Users(a.ID)
	if err != nil {
		return err
	}
	for _, u := range users[:min(len(users), shownUsers)] {
		v.Users = append(v.Users, link{Name: u.Name, Path: "/iteration/" + u.ID})
	}
	v.MoreUsers = len(users) - len(v.Users)
	others, err := db.Collections.Search(collections.Search{ExperimentID: a.ExperimentID, Name: a.Collection, Page: domain.Page{Limit: shownVersions}})
	if err != nil {
		return err
	}
	for _, o := range others.Data {
		l := link{Name: "v" + strconv.FormatInt(o.Version, 10), Path: "/collection/" + o.ID}
		if o.ID == a.ID {
			l.Status = "here"
		}
		v.Versions = append(v.Versions, l)
	}
	if more := others.Total - len(others.Data); more > 0 {
		v.OtherVersions = "and " + strconv.Itoa(more) + " older ones"
	}
	before, ok, err := db.Collections.Before(a)
	if err != nil || !ok {
		return err
	}
	v.Before = &link{Name: before.Folder(), Path: "/collection/" + before.ID}
	v.Changes, err = db.Collections.Difference(before, a)
	return err
}

// md5Digits is the length of a digest that W&B's clients compute. Digests of tracker are longer.
const md5Digits = 32

// downloads returns the commands that download a version.
func (s *site) downloads(api string, user domain.User, project string, a collections.Version) []command {
	name := a.Folder()
	python := fmt.Sprintf("import tracker\n\nversion = tracker.Api(%s).artifact(%s, %s)\nversion.download(%s)",
		quoted(api), quoted(project), quoted(name), quoted(a.Collection))
	shell := new(shell)
	if s.Auth.Enabled() {
		shell = s.shellStart(api, user)
	} else {
		shell.line("API=", shellQuoted(api))
	}
	shell.line(`curl -fsS`, shell.bearer, ` "$API/artifactversion/`, a.ID, `/files?limit=1000"`)
	shell.line("# then, with the resource_id of a file:")
	shell.line(`curl -fsS`, shell.bearer, ` "$API/resource/RESOURCE_ID/data" -o FILE`)
	all := []command{{"Python", python}}
	if len(a.Digest) == md5Digits { // logged by W&B's client, which needs the manifest that it has stored
		all = append(all, command{"W&B", fmt.Sprintf("import wandb\n\nwandb.Api(overrides={\"base_url\": %s}).artifact(%s).download()",
			quoted(api), quoted("default/"+project+"/"+name))})
	}
	return append(all, command{"curl", strings.TrimRight(shell.String(), "\n")})
}

// saveCollection changes a version.
func (s *site) saveCollection(w http.ResponseWriter, r *http.Request, user domain.User, fields url.Values) error {
	typed := collectionForm{Part: fields.Get("part"), Aliases: text(fields, "aliases"), Tags: text(fields, "tags"),
		Description: text(fields, "description"), Metadata: strings.TrimSpace(text(fields, "metadata"))}
	var p collections.Patch
	var err error
	if typed.Part == "text" {
		err = collections.CheckMetadata(typed.Metadata)
		p = collections.Patch{Description: &typed.Description, Metadata: &typed.Metadata}
	} else {
		typed.Part = "aliases"
		p = collections.Patch{Aliases: listed(typed.Aliases), Tags: listed(typed.Tags)}
	}
	if err == nil {
		_, err = s.DB.Collections.UpdateVersion(r.Context(), user.Actor(), idOf(r), p)
	}
	if typed.Wrong = formError(err); typed.Wrong != nil {
		return s.showCollection(w, r, user, web.StatusOf(typed.Wrong.Code), typed)
	}
	return s.redirectUnless(err, w, r, "/collection/"+idOf(r))
}

// listed returns the words of a list that is separated by commas. The result is not nil.
func listed(text string) []string {
	all := []string{}
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" && !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}

// deleteCollection deletes a version with its aliases.
func (s *site) deleteCollection(w http.ResponseWriter, r *http.Request, user domain.User) error {
	a, err := s.DB.Collections.DeleteVersion(r.Context(), user.Actor(), idOf(r), true)
	if e := formError(err); e != nil {
		return s.showCollection(w, r, user, web.StatusOf(e.Code), collectionForm{Wrong: e})
	}
	return s.redirectUnless(err, w, r, "/experiment/"+a.ExperimentID+"/collections")
}

// lineageView is the view of a lineage graph.
type lineageView struct {
	Name          string
	Label         string
	Legend        string
	Width, Height int
	Boxes         []lineageBoxView
	Arrows        []lineageArrow
}

type lineageArrow struct{ Path, Class string }

// lineageBoxView is a box of a lineage graph. Positions are in pixels.
type lineageBoxView struct {
	X, Y, Width, Height string
	TextX, WordY, NameY string
	Word                string // kind and detail of the record
	Short               string // shortened name
	Title               string // name
	Path                string
	Class               string
	Here                bool
}

// nodeWords maps kinds of records to the words on pages.
var nodeWords = map[collections.NodeKind]string{collections.RunNode: "run", collections.VersionNode: "artifact", collections.DatasetNode: "dataset",
	collections.LoggedModelNode: "logged model", collections.ModelVersionNode: "model version"}

// nodePath returns the path of the page of a record.
func nodePath(n collections.Node) string {
	switch n.Kind {
	case collections.RunNode:
		return "/iteration/" + n.ID
	case collections.VersionNode:
		return "/collection/" + n.ID
	case collections.LoggedModelNode:
		return loggedModelPath(n.ExperimentID, n.ID)
	case collections.ModelVersionNode:
		return "/model/" + n.ModelID
	}
	return "/lineage/" + string(n.Kind) + "/" + n.ID
}

// lineagePage shows the lineage of a record of any kind.
func (s *site) lineagePage(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.show(w, r, user, http.StatusOK, func(db *store.View) (templ.Component, error) {
		ref := collections.NodeRef{Kind: collections.NodeKind(mux.Vars(r)["kind"]), ID: idOf(r)}
		if !slices.Contains(collections.NodeKinds, ref.Kind) {
			return nil, domain.NotFound("record")
		}
		g, err := db.Collections.Lineage(collections.LineageQuery{NodeRef: ref})
		if err != nil {
			return nil, err
		}
		v, root := drawLineage(g), g.Nodes[0]
		p, err := db.Projects.Project(root.ProjectID)
		if err != nil {
			return nil, err
		}
		f, err := s.inside(db, "Lineage of "+root.Name, user, place{projectID: p.ID, experimentID: root.ExperimentID})
		f.InPlace, f.Module = true, "lineage.js"
		f.Crumbs = []crumb{{"Projects", "/"}, {p.Name, "/project/" + p.ID}, {root.Name, nodePath(root)}, {Name: "Lineage"}}
		if root.Kind == collections.DatasetNode {
			f.Crumbs[2].Path = ""
		}
		return lineagePage(f, v), err
	})
}

// lineageOf returns the view of the lineage of a record.
func lineageOf(db *store.View, ref collections.NodeRef) (lineageView, error) {
	g, err := db.Collections.Lineage(collections.LineageQuery{NodeRef: ref})
	if err != nil {
		return lineageView{}, err
	}
	return drawLineage(g), nil
}

// shownName is the maximum number of characters of a name in a box.
const shownName = 24

// drawLineage computes the picture of a lineage graph.
func drawLineage(g collections.Graph) lineageView {
	places := map[collections.NodeRef]int{}
	for i, n := range g.Nodes {
		places[n.NodeRef] = i
	}
	var edges [][2]int
	for _, e := range g.Edges {
		edges = append(edges, [2]int{places[e.From], places[e.To]})
	}
	l := lineage.Arrange(len(g.Nodes), edges)
	v := lineageView{Name: g.Nodes[0].Name, Width: l.Width, Height: l.Height,
		Label:  "Lineage of " + g.Nodes[0].Name + ": " + plain.Counted(len(g.Nodes), "record", "records"),
		Legend: plain.Counted(len(g.Nodes), "record", "records") + ". Arrows lead from a record to the records that were made from it or with it. A dashed arrow leads from a run to its child run."}
	if g.Cut {
		v.Legend += " The picture has only the nearest records."
	}
	// The root comes first in the graph, but the keyboard follows the picture.
	order := make([]int, len(g.Nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(l.Boxes[a].X-l.Boxes[b].X, l.Boxes[a].Y-l.Boxes[b].Y) })
	for _, i := range order {
		n, b := g.Nodes[i], l.Boxes[i]
		word := nodeWords[n.Kind]
		if n.Kind != collections.DatasetNode && n.Detail != "" {
			word += ", " + cmp.Or(detailWords[n.Detail], strings.ToLower(plain.Clip(n.Detail, 16)))
		}
		v.Boxes = append(v.Boxes, lineageBoxView{X: strconv.Itoa(b.X), Y: strconv.Itoa(b.Y), Width: strconv.Itoa(lineage.Width), Height: strconv.Itoa(lineage.Height),
			TextX: strconv.Itoa(b.X + 10), WordY: strconv.Itoa(b.Y + 17), NameY: strconv.Itoa(b.Y + 34),
			Word: word, Short: plain.Clip(n.Name, shownName), Title: n.Name, Path: nodePath(n), Class: string(n.Kind), Here: i == 0})
	}
	for i, points := range l.Arrows {
		v.Arrows = append(v.Arrows, lineageArrow{arrowPath(points), string(g.Edges[i].Role)})
	}
	return v
}

// detailWords maps details of records to words. Other details are shown in lower case.
var detailWords = map[string]string{string(registry.NoStage): "no stage"}

// arrowPath returns the SVG path of an arrow. Between two points in different layers, the path is a
// curve that begins and ends horizontally.
func arrowPath(points []lineage.Point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%d %d", points[0].X, points[0].Y)
	for i := 1; i < len(points); i++ {
		from, to := points[i-1], points[i]
		if from.Y == to.Y {
			fmt.Fprintf(&b, "L%d %d", to.X, to.Y)
			continue
		}
		half := max((to.X-from.X)/2, 28)
		fmt.Fprintf(&b, "C%d %d %d %d %d %d", from.X+half, from.Y, to.X-half, to.Y, to.X, to.Y)
	}
	end := points[len(points)-1]
	fmt.Fprintf(&b, "M%d %dl-6 -4M%d %dl-6 4", end.X, end.Y, end.X, end.Y)
	return b.String()
}

// madeView lists the inputs and outputs of a run.
type madeView struct {
	RunID       string
	Inputs      []link // Status holds the kind of the record
	MoreInputs  int
	Outputs     []link
	MoreOutputs int
}

func (v *madeView) isZero() bool { return len(v.Inputs)+len(v.Outputs) == 0 }

// shownMade is the maximum number of inputs and of outputs on a run's page.
const shownMade = 20

// fillMade reads the inputs and outputs of a run into v.
func fillMade(db *store.View, iterationID string, v *madeView) error {
	*v = madeView{RunID: iterationID}
	g, err := db.Collections.Lineage(collections.LineageQuery{NodeRef: collections.NodeRef{Kind: collections.RunNode, ID: iterationID}, Depth: 1})
	if err != nil {
		return err
	}
	nodes := map[collections.NodeRef]collections.Node{}
	for _, n := range g.Nodes {
		nodes[n.NodeRef] = n
	}
	for _, e := range g.Edges {
		if e.Role == collections.Parent {
			continue
		}
		other, list, more := e.To, &v.Outputs, &v.MoreOutputs
		if e.To == g.Root {
			other, list, more = e.From, &v.Inputs, &v.MoreInputs
		}
		n := nodes[other]
		if len(*list) == shownMade {
			*more++
			continue
		}
		word := nodeWords[n.Kind]
		if n.Kind == collections.VersionNode {
			word = n.Detail
		}
		*list = append(*list, link{n.Name, nodePath(n), word})
	}
	// Versions of models come first.
	slices.SortStableFunc(v.Outputs, func(a, b link) int { return cmp.Compare(rank(a.Status), rank(b.Status)) })
	return nil
}

func rank(word string) int {
	if strings.Contains(word, "model") {
		return 0
	}
	return 1
}
