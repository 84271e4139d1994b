package collections

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/scalar"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// NodeKind is the kind of a record in a lineage graph.
type NodeKind string

// The kinds of records in a lineage graph.
const (
	RunNode          NodeKind = "iteration"
	VersionNode      NodeKind = "artifactversion"
	DatasetNode      NodeKind = "dataset" // dataset that a run has logged as input
	LoggedModelNode  NodeKind = "loggedmodel"
	ModelVersionNode NodeKind = "modelversion"
)

// NodeKinds lists all kinds.
var NodeKinds = []NodeKind{RunNode, VersionNode, DatasetNode, LoggedModelNode, ModelVersionNode}

// NodeRef identifies a record in a lineage graph.
type NodeRef struct {
	Kind NodeKind `json:"kind" db:"-"`
	ID   string   `json:"id" db:"id"`
}

// Node is a record in a lineage graph.
type Node struct {
	NodeRef
	Name         string      `json:"name" db:"name"`     // such as "model:v3"
	Detail       string      `json:"detail" db:"detail"` // type, status or stage
	ProjectID    string      `json:"project_id" db:"project_id"`
	ExperimentID string      `json:"experiment_id" db:"experiment_id"` // "" for a model version
	ModelID      string      `json:"model_id,omitzero" db:"model_id"`  // model of a model version
	CreatedDate  scalar.Time `json:"created_date" db:"created_date"`   // 0 for a dataset
}

// Edge is an arrow from a record to a record that was made from it or with it.
type Edge struct {
	From NodeRef  `json:"from"`
	To   NodeRef  `json:"to"`
	Role EdgeRole `json:"role"`
}

// EdgeRole is the meaning of an edge.
type EdgeRole string

// The meanings of edges.
const (
	Logged     EdgeRole = "logged"     // a run has created an artifact or a model
	Used       EdgeRole = "used"       // a run has read an artifact, a dataset or a model
	Registered EdgeRole = "registered" // a model version was made from a record
	Parent     EdgeRole = "parent"     // a run is the parent of a run
)

// Graph is the lineage of a record. It contains the records from which the record was made,
// directly or indirectly, and the records that were made from it.
type Graph struct {
	Root  NodeRef `json:"root"`
	Nodes []Node  `json:"nodes"` // the first node is the root
	Edges []Edge  `json:"edges"`
	// Cut is set if the graph has more records than the limits allow.
	Cut bool `json:"cut"`
}

// Limits of a lineage graph.
const (
	MaxNodes     = 200
	MaxDepth     = 20
	DefaultDepth = 6
	// maxSteps is the maximum number of edges that one query returns.
	maxSteps = 2000
)

// LineageQuery selects the part of a lineage graph that Lineage returns.
type LineageQuery struct {
	NodeRef
	Depth int // maximum number of edges between the root and a record; 0 means DefaultDepth
	Limit int // maximum number of records; 0 means MaxNodes
}

// step is a query for the neighbours of records. near and far are the kinds of its two columns. The
// parameters are a JSON array of the ids of the near records, and the maximum number of rows.
type step struct {
	near, far NodeKind
	role      EdgeRole
	query     string
}

// near is the SQL condition of a step for the ids of the near records.
const near = ` IN (SELECT value FROM json_each(?1)) `

// fromVersion is the SQL condition that the artifact resource belongs to the artifact version a.
const fromVersion = `resource.iteration_num = a.iteration_num AND resource.name >= a.collection || ':v' || a.version || '/'
	AND resource.name < a.collection || ':v' || a.version || '0' AND a.state = 'COMMITTED'`

// above holds the steps to the records from which records were made.
var above = []step{
	{RunNode, VersionNode, Used, `SELECT it.id AS near, a.id AS far FROM iteration AS it
		JOIN artifact_use ON artifact_use.iteration_num = it.num JOIN artifact_version AS a ON a.num = artifact_use.artifact_num
		WHERE it.id` + near + `AND a.state = 'COMMITTED' ORDER BY a.num DESC`},
	{RunNode, DatasetNode, Used, `SELECT it.id AS near, CAST(dataset_id AS TEXT) AS far FROM iteration AS it
		JOIN iteration_dataset ON iteration_dataset.iteration_num = it.num WHERE it.id` + near + `ORDER BY dataset_id DESC`},
	{RunNode, LoggedModelNode, Used, `SELECT it.id AS near, m.id AS far FROM iteration AS it
		JOIN logged_model_use AS u ON u.iteration_num = it.num AND u.role = 'input' JOIN logged_model AS m ON m.num = u.logged_model_num
		WHERE it.id` + near + `ORDER BY m.num DESC`},
	{RunNode, RunNode, Parent, `SELECT it.id AS near, parent.id AS far FROM iteration AS it
		JOIN iteration AS parent ON parent.num = it.parent_num WHERE it.id` + near + `ORDER BY parent.num DESC`},
	{VersionNode, RunNode, Logged, `SELECT a.id AS near, it.id AS far FROM artifact_version AS a
		JOIN iteration AS it ON it.num = a.iteration_num WHERE a.id` + near + `ORDER BY it.num DESC`},
	{LoggedModelNode, RunNode, Logged, `SELECT m.id AS near, it.id AS far FROM logged_model AS m
		JOIN iteration AS it ON it.num = m.iteration_num WHERE m.id` + near + `
		UNION SELECT m.id, it.id FROM logged_model AS m JOIN logged_model_use AS u ON u.logged_model_num = m.num AND u.role = 'output'
		JOIN iteration AS it ON it.num = u.iteration_num WHERE m.id` + near},
	{ModelVersionNode, VersionNode, Registered, `SELECT v.id AS near, a.id AS far FROM model_version AS v
		JOIN resource ON resource.num = v.resource_num JOIN artifact_version AS a ON ` + fromVersion + `WHERE v.id` + near + `
		UNION SELECT v.id, a.id FROM model_version AS v JOIN artifact_version AS a ON a.id = ` + registry.LinkedID("v") + `
		WHERE v.source LIKE '` + registry.ArtifactSource + `%' AND v.id` + near + `AND a.state = 'COMMITTED'`},
	{ModelVersionNode, LoggedModelNode, Registered, `SELECT v.id AS near, m.id AS far FROM model_version AS v
		JOIN logged_model AS m ON m.id = substr(v.source, 9) WHERE v.source LIKE 'models:/m-%' AND v.id` + near},
	{ModelVersionNode, RunNode, Registered, `SELECT v.id AS near, it.id AS far FROM model_version AS v
		JOIN iteration AS it ON it.num = v.iteration_num WHERE v.id` + near},
}

// below holds the steps to the records that were made from records.
var below = []step{
	{RunNode, VersionNode, Logged, `SELECT it.id AS near, a.id AS far FROM iteration AS it
		JOIN artifact_version AS a ON a.iteration_num = it.num WHERE it.id` + near + `AND a.state = 'COMMITTED' ORDER BY a.num DESC`},
	{RunNode, LoggedModelNode, Logged, `SELECT it.id AS near, m.id AS far FROM iteration AS it
		JOIN logged_model AS m ON m.iteration_num = it.num WHERE it.id` + near + `
		UNION SELECT it.id, m.id FROM iteration AS it JOIN logged_model_use AS u ON u.iteration_num = it.num AND u.role = 'output'
		JOIN logged_model AS m ON m.num = u.logged_model_num WHERE it.id` + near},
	{RunNode, ModelVersionNode, Registered, `SELECT it.id AS near, v.id AS far FROM iteration AS it
		JOIN model_version AS v ON v.iteration_num = it.num WHERE it.id` + near + `ORDER BY v.created_date DESC`},
	{VersionNode, RunNode, Used, `SELECT a.id AS near, it.id AS far FROM artifact_version AS a
		JOIN artifact_use ON artifact_use.artifact_num = a.num JOIN iteration AS it ON it.num = artifact_use.iteration_num
		WHERE a.id` + near + `ORDER BY it.num DESC`},
	{VersionNode, ModelVersionNode, Registered, `SELECT a.id AS near, v.id AS far FROM artifact_version AS a
		JOIN resource ON ` + fromVersion + ` JOIN model_version AS v ON v.resource_num = resource.num WHERE a.id` + near + `
		UNION SELECT a.id, v.id FROM artifact_version AS a
		JOIN model_version AS v ON v.source = '` + registry.ArtifactSource + `' || a.id AND v.source <> '' WHERE a.id` + near},
	{DatasetNode, RunNode, Used, `SELECT CAST(dataset_id AS TEXT) AS near, it.id AS far FROM iteration_dataset
		JOIN iteration AS it ON it.num = iteration_dataset.iteration_num
		WHERE dataset_id IN (SELECT CAST(value AS INTEGER) FROM json_each(?1)) ORDER BY it.num DESC`},
	{LoggedModelNode, RunNode, Used, `SELECT m.id AS near, it.id AS far FROM logged_model AS m
		JOIN logged_model_use AS u ON u.logged_model_num = m.num AND u.role = 'input' JOIN iteration AS it ON it.num = u.iteration_num
		WHERE m.id` + near + `ORDER BY it.num DESC`},
	{LoggedModelNode, ModelVersionNode, Registered, `SELECT m.id AS near, v.id AS far FROM logged_model AS m
		JOIN model_version AS v ON v.source = 'models:/' || m.id WHERE m.id` + near},
}

// nodeQueries holds, by kind, the query of the nodes with the ids in a JSON array. The query omits
// records in the trash.
var nodeQueries = map[NodeKind]string{
	RunNode: `SELECT iteration.id, iteration.name, iteration.status AS detail, project.id AS project_id, experiment.id AS experiment_id,
			'' AS model_id, iteration.created_date FROM iteration
		JOIN experiment ON experiment.id = iteration.experiment_id AND experiment.deleted_date IS NULL
		JOIN project ON project.id = experiment.project_id AND project.deleted_date IS NULL
		WHERE iteration.deleted_date IS NULL AND iteration.id` + near,
	VersionNode: `SELECT artifact_version.id, artifact_version.collection || ':v' || artifact_version.version AS name, artifact_version.type AS detail,
			project.id AS project_id, experiment.id AS experiment_id, '' AS model_id, artifact_version.created_date ` + versionFrom + `
		WHERE artifact_version.state = 'COMMITTED' AND artifact_version.id` + near,
	DatasetNode: `SELECT CAST(dataset.id AS TEXT) AS id, dataset.name, substr(dataset.digest, 1, 100) AS detail, project.id AS project_id,
			experiment.id AS experiment_id, '' AS model_id, 0 AS created_date FROM dataset
		JOIN experiment ON experiment.id = dataset.experiment_id AND experiment.deleted_date IS NULL
		JOIN project ON project.id = experiment.project_id AND project.deleted_date IS NULL
		WHERE dataset.id IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))`,
	LoggedModelNode: `SELECT logged_model.id, logged_model.name, logged_model.type AS detail, project.id AS project_id,
			experiment.id AS experiment_id, '' AS model_id, logged_model.created_date FROM logged_model
		JOIN experiment ON experiment.id = logged_model.experiment_id AND experiment.deleted_date IS NULL
		JOIN project ON project.id = experiment.project_id AND project.deleted_date IS NULL
		WHERE logged_model.id` + near,
	ModelVersionNode: `SELECT model_version.id, model.name || ' v' || model_version.version AS name, model_version.stage AS detail, project.id AS project_id,
			'' AS experiment_id, model.id AS model_id, model_version.created_date FROM model_version
		JOIN model ON model.id = model_version.model_id AND model.deleted_date IS NULL
		JOIN project ON project.id = model.project_id AND project.deleted_date IS NULL
		WHERE model_version.deleted_date IS NULL AND model_version.id` + near,
}

// walk is the state of Lineage.
type walk struct {
	v     *View
	limit int
	graph Graph
	known map[NodeRef]bool
	edges map[Edge]bool
}

// Lineage returns the lineage of a record. It alternates between the two directions, one edge at a
// time, so that the graph contains the nearest records if it is cut. Records that the actor can't
// read are omitted, with everything that is connected only through them. Lineage returns NOT_FOUND
// if the root does not exist. The actor needs the right to read the root.
func (v *View) Lineage(q LineageQuery) (Graph, error) {
	if !slices.Contains(NodeKinds, q.Kind) {
		return Graph{}, domain.Errorf(domain.CodeNotFound, "The kind must be iteration, artifactversion, dataset, loggedmodel or modelversion.")
	}
	if q.Depth < 0 || q.Depth > MaxDepth {
		return Graph{}, domain.Invalid("depth", "depth must be between 1 and %d.", MaxDepth)
	}
	if q.Limit < 0 || q.Limit > MaxNodes {
		return Graph{}, domain.Invalid("limit", "limit must be between 1 and %d.", MaxNodes)
	}
	if q.Depth == 0 {
		q.Depth = DefaultDepth
	}
	if q.Limit == 0 {
		q.Limit = MaxNodes
	}
	w := walk{v: v, limit: q.Limit, graph: Graph{Root: q.NodeRef, Edges: []Edge{}}, known: map[NodeRef]bool{}, edges: map[Edge]bool{}}
	var root []Node
	var err error
	if utf8.ValidString(q.ID) { // other ids can't be part of JSON
		root, err = w.load(domain.System, q.Kind, []string{q.ID})
	}
	if err == nil && len(root) == 0 {
		err = domain.NotFound("record")
	}
	if err == nil {
		err = v.tx.Allow(v.tx.Actor, root[0].ProjectID, domain.RightRead)
	}
	if err != nil {
		return Graph{}, err
	}
	w.add(root[0])
	up, down := []NodeRef{q.NodeRef}, []NodeRef{q.NodeRef}
	for depth := 0; len(up)+len(down) > 0; depth++ {
		last := depth == q.Depth // only look whether there are more records
		if up, err = w.expand(up, false, last); err == nil {
			down, err = w.expand(down, true, last)
		}
		if err != nil {
			return Graph{}, err
		}
		if last {
			break
		}
	}
	w.graph.Edges = withoutDetours(w.graph.Edges)
	return w.graph, nil
}

// withoutDetours removes each edge from a run to a model version if another edge shows from what
// the version was made.
func withoutDetours(edges []Edge) []Edge {
	made := map[NodeRef]bool{}
	for _, e := range edges {
		if e.To.Kind == ModelVersionNode && e.From.Kind != RunNode {
			made[e.To] = true
		}
	}
	return slices.DeleteFunc(edges, func(e Edge) bool { return e.From.Kind == RunNode && made[e.To] })
}

// Lineage calls View.Lineage on a new snapshot.
func (db *DB) Lineage(ctx context.Context, actor domain.Actor, q LineageQuery) (Graph, error) {
	return view(ctx, db, actor, func(v *View) (Graph, error) { return v.Lineage(q) })
}

func (w *walk) add(n Node) {
	w.known[n.NodeRef] = true
	w.graph.Nodes = append(w.graph.Nodes, n)
}

// expand follows the edges from each node of from in one direction, and returns the new nodes. If
// last is set, expand adds only edges between known nodes, and sets Cut if there are other nodes.
func (w *walk) expand(from []NodeRef, down, last bool) (next []NodeRef, err error) {
	if len(from) == 0 {
		return nil, nil
	}
	steps := above
	if down {
		steps = below
	}
	for _, s := range steps {
		var ids []string
		for _, n := range from {
			if n.Kind == s.near {
				ids = append(ids, n.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		var pairs []struct {
			Near string `db:"near"`
			Far  string `db:"far"`
		}
		if err := w.v.tx.Select(&pairs, s.query+` LIMIT ?2`, sqlite.JSON(ids), maxSteps+1); err != nil {
			return nil, err
		}
		if len(pairs) > maxSteps {
			w.graph.Cut, pairs = true, pairs[:maxSteps]
		}
		var far []string
		for _, p := range pairs {
			if !w.known[NodeRef{s.far, p.Far}] {
				far = append(far, p.Far)
			}
		}
		nodes, err := w.load(w.v.tx.Actor, s.far, far)
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			switch {
			case w.known[n.NodeRef]:
			case last || len(w.graph.Nodes) >= w.limit:
				w.graph.Cut = true
			default:
				w.add(n)
				next = append(next, n.NodeRef)
			}
		}
		for _, p := range pairs {
			n, f := NodeRef{s.near, p.Near}, NodeRef{s.far, p.Far}
			if !w.known[f] {
				continue
			}
			e := Edge{From: f, To: n, Role: s.role}
			if down {
				e.From, e.To = n, f
			}
			if !w.edges[e] {
				w.edges[e] = true
				w.graph.Edges = append(w.graph.Edges, e)
			}
		}
	}
	return next, nil
}

// load returns the nodes with the given ids that actor can read, in the order of ids.
func (w *walk) load(actor domain.Actor, kind NodeKind, ids []string) ([]Node, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var query search.SQL
	query.Add(nodeQueries[kind], sqlite.JSON(ids))
	if err := readable(w.v.tx, actor, &query, `project.id`); err != nil {
		return nil, err
	}
	var nodes []Node
	if err := w.v.tx.Select(&nodes, strings.ReplaceAll(query.String(), "?1", "?"), query.Args...); err != nil {
		return nil, err
	}
	place := map[string]int{}
	for i, id := range ids {
		if _, ok := place[id]; !ok {
			place[id] = i
		}
	}
	for i := range nodes {
		nodes[i].Kind = kind
	}
	slices.SortFunc(nodes, func(a, b Node) int { return place[a.ID] - place[b.ID] })
	return nodes, nil
}
