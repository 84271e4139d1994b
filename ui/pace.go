package ui

import (
	"strconv"

	"tracker/store/pace"
	"tracker/store/scalar"
	"tracker/ui/plain"
)

// paceView is the view of the speed and the progress of a running run.
type paceView struct {
	Rate  string // "" if unknown
	Of    string // done part and total, "" if no total is known
	Param string // parameter that names the total
	Left  string // "" if unknown
	Part  string // part of the total that is done, between 0 and 1
	Slow  string // sentence about a slow run, "" for none
}

// newPace returns the view of p, nil if nothing is known.
func newPace(p pace.Pace) *paceView {
	v := paceView{Rate: pace.PerSecond(p.Rate), Slow: p.Slow}
	if g := p.Progress; g != nil {
		v.Of = plain.Number(scalar.Value(g.Done)) + " of " + plain.Number(scalar.Value(g.Of)) + " " + string(g.Unit)
		v.Param, v.Part = g.Param, strconv.FormatFloat(g.Part(), 'f', 3, 64)
		if g.Left > 0 {
			v.Left = plain.Duration(scalar.Value(g.Left.Seconds())) + " left"
		}
	}
	if v == (paceView{}) {
		return nil
	}
	return &v
}
