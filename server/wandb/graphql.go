package wandb

import (
	"fmt"
	"net/http"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"tracker/server/web"
	"tracker/store/domain"
)

// object is a GraphQL object. A field holds a value, or a func(args) (any, error) that returns
// the value. A missing field is null.
type object map[string]any

// args holds the arguments of a GraphQL field.
type args map[string]any

// text returns the named string argument, or nil if it is null or missing.
func (a args) text(name string) *string {
	if s, ok := a[name].(string); ok {
		return &s
	}
	return nil
}

// str returns the named string argument, or "" if it is null or missing.
func (a args) str(name string) string {
	s, _ := a[name].(string)
	return s
}

// number returns the named number argument, or fallback if it is null or missing.
func (a args) number(name string, fallback int64) int64 {
	switch n := a[name].(type) {
	case float64:
		return int64(n)
	case int64:
		return n
	}
	return fallback
}

// truth reports whether the named argument is true.
func (a args) truth(name string) bool {
	b, _ := a[name].(bool)
	return b
}

// texts returns the named argument, which is a list of strings. It returns nil if the argument
// is null or missing.
func (a args) texts(name string) []string {
	list, ok := a[name].([]any)
	if !ok {
		return nil
	}
	all := make([]string, 0, len(list))
	for _, v := range list {
		if s, ok := v.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

// objects returns the named argument, which is a list of objects.
func (a args) objects(name string) []args {
	list, _ := a[name].([]any)
	var all []args
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// request is the JSON body of a GraphQL request.
type request struct {
	Query     string         `json:"query"`
	Variables map[string]any `json:"variables"`
	Operation *string        `json:"operationName"`
}

type data struct {
	Data any `json:"data"`
}

func (c *call) graphql() error {
	body, err := web.ReadBody(c.w, c.r, web.Limits{Size: maxDocument, Packed: true, Values: maxValues, Share: c.share})
	if err != nil {
		return err
	}
	if body == nil {
		return domain.Invalid("query", "The body must be a JSON object with a query.")
	}
	var in request
	if err := web.DecodeLenient(body, &in); err != nil {
		return err
	}
	doc, parseErr := parser.ParseQueryWithTokenLimit(&ast.Source{Input: in.Query}, maxTokens)
	if parseErr != nil {
		return domain.Invalid("query", "The query can't be read: %s.", web.Clip(parseErr.Error()))
	}
	op := doc.Operations.ForName("")
	if in.Operation != nil && *in.Operation != "" {
		op = doc.Operations.ForName(*in.Operation)
	}
	if op == nil {
		return domain.Invalid("query", "The query has no operation of this name.")
	}
	x := &execution{fragments: doc.Fragments, variables: in.Variables}
	if x.variables == nil {
		x.variables = map[string]any{}
	}
	for _, d := range op.VariableDefinitions {
		if _, given := x.variables[d.Variable]; !given && d.DefaultValue != nil {
			if x.variables[d.Variable], err = d.DefaultValue.Value(nil); err != nil {
				return domain.Invalid("query", "The default value of the variable %s can't be read.", web.Clip(d.Variable))
			}
		}
	}
	root := c.queries()
	if op.Operation != ast.Query {
		root, x.mutation = c.mutations(), true
	}
	var out any
	err = c.bounded(!x.mutation, func(b *bounds) (err error) {
		x.bounds = b
		out, err = x.selection(op.SelectionSet, root, 0)
		return err
	})
	if err != nil {
		return err
	}
	web.WriteJSON(c.w, c.r, http.StatusOK, data{out})
	return nil
}

// execution holds the state of one GraphQL operation.
type execution struct {
	fragments ast.FragmentDefinitionList
	variables map[string]any
	mutation  bool
	*bounds
}

// wanted is a requested field. below contains the selections of all fragments that request the
// field.
type wanted struct {
	field *ast.Field
	below ast.SelectionSet
}

// selection returns the fields of o that set requests.
func (x *execution) selection(set ast.SelectionSet, o object, depth int) (map[string]any, error) {
	if depth > maxDepth {
		return nil, domain.Invalid("query", "The query is nested more than %d levels deep.", maxDepth)
	}
	all := map[string]*wanted{}
	var order []string
	if err := x.collect(set, o, all, &order, map[string]visit{}, 0); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(order))
	for _, name := range order {
		if err := x.step(1); err != nil {
			return nil, err
		}
		f := all[name]
		v, known := o[f.field.Name]
		if !known && depth == 0 && x.mutation {
			return nil, domain.Invalid("query", "This server does not support the mutation %s; docs/wandb.md lists what is supported.", web.Clip(f.field.Name))
		}
		if resolve, ok := v.(func(args) (any, error)); ok {
			in, err := x.arguments(f.field)
			if err == nil {
				v, err = resolve(in)
			}
			if err != nil {
				return nil, err
			}
		}
		var err error
		if out[name], err = x.value(f.below, v, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// value returns v. If v is an object or a list of objects, value returns only the requested
// fields.
func (x *execution) value(set ast.SelectionSet, v any, depth int) (any, error) {
	switch v := v.(type) {
	case object:
		if v == nil {
			return nil, nil
		}
		return x.selection(set, v, depth)
	case []object:
		list := make([]any, len(v))
		for i, o := range v {
			var err error
			if list[i], err = x.value(set, o, depth); err != nil {
				return nil, err
			}
		}
		return list, nil
	case string:
		return v, x.text(v)
	case []string:
		for _, s := range v {
			if err := x.text(s); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// visit is the progress of collecting a fragment's fields.
type visit int

const (
	visiting visit = 1 + iota
	visited        // all fields of the fragment have been collected
)

// collect adds the fields of a selection to the map all. It includes the fields of fragments.
func (x *execution) collect(set ast.SelectionSet, o object, all map[string]*wanted, order *[]string, seen map[string]visit, nested int) error {
	if nested > maxDepth {
		return domain.Invalid("query", "The fragments of the query are nested more than %d levels deep.", maxDepth)
	}
	for _, s := range set {
		if err := x.step(1); err != nil {
			return err
		}
		switch s := s.(type) {
		case *ast.Field:
			if !x.included(s.Directives) {
				continue
			}
			w := all[s.Alias]
			if w == nil {
				w = &wanted{field: s}
				all[s.Alias] = w
				*order = append(*order, s.Alias)
			}
			if err := x.step(len(s.SelectionSet)); err != nil {
				return err
			}
			w.below = append(w.below[:len(w.below):len(w.below)], s.SelectionSet...)
		case *ast.InlineFragment:
			if x.included(s.Directives) && applies(s.TypeCondition, o) {
				if err := x.collect(s.SelectionSet, o, all, order, seen, nested+1); err != nil {
					return err
				}
			}
		case *ast.FragmentSpread:
			f := x.fragments.ForName(s.Name)
			if f == nil {
				return domain.Invalid("query", "The query has no fragment %s.", web.Clip(s.Name))
			}
			if !x.included(s.Directives) || !applies(f.TypeCondition, o) || seen[s.Name] == visited {
				continue
			}
			if seen[s.Name] == visiting {
				return domain.Invalid("query", "The fragment %s of the query includes itself.", web.Clip(s.Name))
			}
			seen[s.Name] = visiting
			if err := x.collect(f.SelectionSet, o, all, order, seen, nested+1); err != nil {
				return err
			}
			seen[s.Name] = visited
		}
	}
	return nil
}

// kinds holds concrete type names. A fragment on a concrete type applies only to objects of
// that type.
var kinds = map[string]bool{"ArtifactSequence": true, "ArtifactPortfolio": true, "Run": true, "User": true}

// applies reports whether a fragment on the type condition applies to o. A fragment on an
// interface applies to every object.
func applies(condition string, o object) bool {
	name, _ := o["__typename"].(string)
	return condition == name || !kinds[condition] || name == ""
}

// included reports whether the directives include a field or fragment in the response.
func (x *execution) included(all ast.DirectiveList) bool {
	for _, d := range all {
		if d.Name != "include" && d.Name != "skip" {
			continue
		}
		arg := d.Arguments.ForName("if")
		if arg == nil {
			continue
		}
		v, err := arg.Value.Value(x.variables)
		if on, ok := v.(bool); err == nil && ok && on != (d.Name == "include") {
			return false
		}
	}
	return true
}

func (x *execution) arguments(f *ast.Field) (args, error) {
	in := args{}
	for _, a := range f.Arguments {
		v, err := a.Value.Value(x.variables)
		if err != nil {
			return nil, domain.Invalid(a.Name, "The argument %s of %s can't be read.", web.Clip(a.Name), web.Clip(f.Name))
		}
		in[a.Name] = v
	}
	// A mutation has a single argument "input", which is an object.
	if only, ok := in["input"].(map[string]any); ok {
		return only, nil
	}
	return in, nil
}

// connection returns a page that contains all nodes.
func connection(nodes []object) object {
	edges := make([]object, len(nodes))
	for i, n := range nodes {
		edges[i] = object{"node": n, "cursor": fmt.Sprint(i + 1)}
	}
	return pageOf(edges, "", false)
}

// pageOf returns a page with the given edges. next is the cursor of the next page, and more
// reports whether that page exists. If next is "", the page uses the cursor of its last edge.
func pageOf(edges []object, next string, more bool) object {
	var end any
	if next != "" {
		end = next
	} else if len(edges) > 0 {
		end = edges[len(edges)-1]["cursor"]
	}
	return object{"edges": edges, "totalCount": len(edges),
		"pageInfo": object{"__typename": "PageInfo", "endCursor": end, "hasNextPage": more, "hasPreviousPage": false, "startCursor": nil}}
}
