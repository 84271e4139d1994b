package server

import (
	"strconv"

	"tracker/store"
)

// maxIterations is how many iterations one request may ask the curves of.
const maxIterations = 1000

type curvesBody struct {
	Series []store.Curve `json:"series"`
}

// iterationCurves answers the curves of one iteration.
func (s *Server) iterationCurves(c *call) error {
	q := store.CurveQuery{Keys: c.query["key"], Points: store.DefaultPoints, X: store.ByStep, Scale: store.Linear}
	if x := c.text("x"); x != nil {
		q.X = store.Axis(*x)
	}
	if scale := c.text("scale"); scale != nil {
		q.Scale = store.Scale(*scale)
	}
	if points := c.text("points"); points != nil {
		n, err := strconv.Atoi(*points)
		if err != nil {
			return errPoints
		}
		q.Points = n
	}
	for name, dst := range map[string]**int64{"from": &q.From, "to": &q.To} {
		text := c.text(name)
		if text == nil {
			continue
		}
		at, err := parsePosition(name, *text, q.X)
		if err != nil {
			return err
		}
		*dst = &at
	}
	curves, err := s.db.Curves(c.ctx, c.actor, []string{c.vars["iteration_id"]}, q)
	return reply(c, curvesBody{curves}, err)
}

var errPoints = store.Invalid("points", "points must be a whole number.")

// parsePosition reads a place on the axis: a step, or a datetime.
func parsePosition(name, text string, x store.Axis) (int64, error) {
	if x == store.ByTime {
		t, err := store.ParseTime(text)
		if err != nil {
			return 0, store.Invalid(name, "%s %s.", name, err)
		}
		return int64(t), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, store.Invalid(name, "%s must be a step, a whole number.", name)
	}
	return n, nil
}

// curves answers the curves of many iterations.
func (s *Server) curves(c *call) error {
	var b struct {
		Iterations []string     `json:"iterations"`
		Keys       []string     `json:"keys"`
		Points     *store.Step  `json:"points"`
		X          *store.Axis  `json:"x"`
		Scale      *store.Scale `json:"scale"`
		From       *store.Text  `json:"from"`
		To         *store.Text  `json:"to"`
	}
	if err := c.decode(&b); err != nil {
		return err
	}
	if len(b.Iterations) == 0 || len(b.Iterations) > maxIterations {
		return store.Invalid("iterations", "iterations must name 1 to %d iterations.", maxIterations)
	}
	q := store.CurveQuery{Keys: b.Keys, Points: store.DefaultPoints, X: store.ByStep, Scale: store.Linear}
	if b.Points != nil {
		q.Points = int(*b.Points)
	}
	if b.X != nil {
		q.X = *b.X
	}
	if b.Scale != nil {
		q.Scale = *b.Scale
	}
	for _, p := range []struct {
		name string
		from *store.Text
		to   **int64
	}{{"from", b.From, &q.From}, {"to", b.To, &q.To}} {
		if p.from == nil {
			continue
		}
		at, err := parsePosition(p.name, string(*p.from), q.X)
		if err != nil {
			return err
		}
		*p.to = &at
	}
	curves, err := s.db.Curves(c.ctx, c.actor, b.Iterations, q)
	return reply(c, curvesBody{curves}, err)
}
