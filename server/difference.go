package server

import (
	"context"
	"math"

	"tracker/store/difference"
	"tracker/store/significance"
)

// differenceBody is the response of the route that compares two iterations.
type differenceBody struct {
	Sentence    string           `json:"sentence"`
	Objective   *string          `json:"objective"`  // nil for none
	Difference  *float64         `json:"difference"` // nil if either side has no value
	Low         *float64         `json:"low"`        // nil if there was no test
	High        *float64         `json:"high"`
	P           *float64         `json:"p"`
	Method      *string          `json:"method"`
	Spread      *float64         `json:"spread"` // standard deviation between seeds, nil if it is unknown
	A           differenceSide   `json:"a"`
	B           differenceSide   `json:"b"`
	Params      []differingValue `json:"params"`
	Packages    []differingValue `json:"packages"`
	Environment []differingValue `json:"environment"`
	Data        []differingValue `json:"data"`
	Files       []differingFile  `json:"files"`
	CodeNote    string           `json:"code_note"`
	CommitA     string           `json:"commit_a"`
	CommitB     string           `json:"commit_b"`
}

type differenceSide struct {
	Iterations []string `json:"iterations"` // iterations with values of the objective
	Mean       *float64 `json:"mean"`
	SD         *float64 `json:"sd"`
}

type differingValue struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
	Kind string `json:"kind,omitempty"` // how a package differs
}

type differingFile struct {
	Name    string `json:"name"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// difference sends the differences between two iterations.
func (s *Server) difference(c *call) error {
	return held(c, func(ctx context.Context) (differenceBody, error) {
		d, err := s.db.Projects.Difference(ctx, c.actor, c.vars["id"], c.vars["other"])
		return newDifferenceBody(d), err
	})
}

func newDifferenceBody(d difference.Difference) differenceBody {
	o := d.Outcome
	known := func(f float64) *float64 {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil
		}
		return &f
	}
	side := func(g significance.Group, ids []string) differenceSide {
		return differenceSide{append([]string{}, ids...), known(g.Mean), known(g.SD)}
	}
	values := func(changes []difference.Change) []differingValue {
		all := []differingValue{}
		for _, c := range changes {
			all = append(all, differingValue{Name: c.Name, A: c.A, B: c.B})
		}
		return all
	}
	b := differenceBody{Sentence: d.Sentence(), Params: values(append(d.Params, d.Seeds...)), Packages: []differingValue{},
		Environment: values(d.Environment), Data: values(d.Data), Files: []differingFile{},
		CodeNote: d.Code.Note, CommitA: d.Code.CommitA, CommitB: d.Code.CommitB}
	for _, p := range d.Packages {
		b.Packages = append(b.Packages, differingValue{p.Name, p.A, p.B, string(p.Kind)})
	}
	for _, f := range d.Code.Files {
		b.Files = append(b.Files, differingFile{f.Name, f.Added, f.Removed})
	}
	if o.Objective == nil {
		b.A.Iterations, b.B.Iterations = []string{}, []string{}
		return b
	}
	b.Objective = new(o.Objective.String())
	b.A, b.B = side(o.A, o.IDs[0]), side(o.B, o.IDs[1])
	b.Difference = known(o.Difference)
	if o.SpreadDF > 0 {
		b.Spread = known(o.Spread)
	}
	if o.Method != significance.None {
		b.Method = new(string(o.Method))
		b.P, b.Low, b.High = known(o.P), known(o.Low), known(o.High)
	}
	return b
}
