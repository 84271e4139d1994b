package server

import (
	"context"
	"strconv"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// maxIterations is the maximum number of iterations in a request for curves.
const maxIterations = 1000

type curvesBody struct {
	Series []runs.Curve `json:"series"`
}

// iterationCurves sends the curves of one iteration.
func (s *Server) iterationCurves(c *call) error {
	q := points.CurveQuery{Keys: c.query["key"], Points: points.DefaultPoints, X: points.ByStep, Scale: points.Linear}
	if x := c.text("x"); x != nil {
		q.X = points.Axis(*x)
	}
	if scale := c.text("scale"); scale != nil {
		q.Scale = points.Scale(*scale)
	}
	if points := c.text("points"); points != nil {
		n, err := strconv.Atoi(*points)
		if err != nil {
			return errPoints
		}
		q.Points = n
	}
	if err := bounds(&q, c.text("from"), c.text("to")); err != nil {
		return err
	}
	return c.curves([]string{c.vars["iteration_id"]}, q)
}

var errPoints = domain.Invalid("points", "points must be a whole number.")

// bounds parses from and to and sets q.From and q.To. It leaves a field unchanged if the string is
// nil.
func bounds(q *points.CurveQuery, from, to *string) error {
	for _, p := range []struct {
		name string
		text *string
		to   **int64
	}{{"from", from, &q.From}, {"to", to, &q.To}} {
		if p.text == nil {
			continue
		}
		at, err := parsePosition(p.name, *p.text, q.X)
		if err != nil {
			return err
		}
		*p.to = &at
	}
	return nil
}

// parsePosition parses a position on the x-axis: a step or a time.
func parsePosition(name, text string, x points.Axis) (int64, error) {
	if x == points.ByTime {
		t, err := scalar.ParseTime(text)
		if err != nil {
			return 0, domain.Invalid(name, "%s %s.", name, err)
		}
		return int64(t), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, domain.Invalid(name, "%s must be a step, a whole number.", name)
	}
	return n, nil
}

// curves sends the curves of the iterations that the request body lists.
func (s *Server) curves(c *call, b struct {
	Iterations []string      `json:"iterations"`
	Keys       []string      `json:"keys"`
	Points     *scalar.Step  `json:"points"`
	X          *points.Axis  `json:"x"`
	Scale      *points.Scale `json:"scale"`
	From       *scalar.Text  `json:"from"`
	To         *scalar.Text  `json:"to"`
}) error {
	if len(b.Iterations) == 0 || len(b.Iterations) > maxIterations {
		return domain.Invalid("iterations", "iterations must have 1 to %d ids.", maxIterations)
	}
	q := points.CurveQuery{Keys: b.Keys, Points: points.DefaultPoints, X: points.ByStep, Scale: points.Linear}
	if b.Points != nil {
		q.Points = int(*b.Points)
	}
	if b.X != nil {
		q.X = *b.X
	}
	if b.Scale != nil {
		q.Scale = *b.Scale
	}
	if err := bounds(&q, (*string)(b.From), (*string)(b.To)); err != nil {
		return err
	}
	return c.curves(b.Iterations, q)
}

// curves sends the curves of the given iterations.
func (c *call) curves(iterations []string, q points.CurveQuery) error {
	return held(c, func(ctx context.Context) (curvesBody, error) {
		curves, err := c.s.db.Runs.Curves(ctx, c.actor, iterations, q)
		return curvesBody{curves}, err
	})
}
