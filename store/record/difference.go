package record

import (
	"errors"
	"math"

	"tracker/store/scalar"
)

// divergence describes where the points of a metric begin to differ between two databases.
type divergence struct {
	Same bool // all points are equal, and From is not set
	From scalar.Step
}

// differences compares the metrics of an iteration in the databases of tx and other. The keys
// of the result are the keys of the metrics.
func (tx Tx) differences(other Tx, id string) (map[string]divergence, error) {
	from, err := other.Num(id)
	if err != nil {
		return nil, err
	}
	to, err := tx.Num(id)
	if err != nil {
		return nil, err
	}
	keys, err := tx.Keys(to)
	if err != nil {
		return nil, err
	}
	all := map[string]divergence{}
	for _, key := range keys {
		if all[key], err = firstDifference(other, from, tx, to, key); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// firstDifference compares the points of the metric key in two iterations.
func firstDifference(a Tx, aNum int64, b Tx, bNum int64, key string) (d divergence, err error) {
	ca, err := a.Cursor(aNum, key)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, ca.Close()) }()
	cb, err := b.Cursor(bNum, key)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, cb.Close()) }()
	for {
		moreA, moreB := ca.Next(), cb.Next()
		switch {
		case !moreA && !moreB:
			return divergence{Same: true}, nil
		case !moreA:
			return divergence{From: cb.Step}, nil
		case !moreB:
			return divergence{From: ca.Step}, nil
		case ca.Step != cb.Step:
			return divergence{From: min(ca.Step, cb.Step)}, nil
		case ca.At != cb.At || math.Float64bits(float64(ca.Value)) != math.Float64bits(float64(cb.Value)):
			return divergence{From: ca.Step}, nil
		}
	}
}

// dropPoints deletes the points of an iteration from the first difference of each metric on. It
// returns the number of deleted points.
func (tx Tx) dropPoints(id string, drop map[string]divergence) (dropped int, err error) {
	if len(drop) == 0 {
		return 0, nil
	}
	num, err := tx.Num(id)
	if err != nil {
		return 0, err
	}
	for key, d := range drop {
		if d.Same {
			continue
		}
		n, err := tx.DeleteFrom(num, key, d.From)
		if err != nil {
			return 0, err
		}
		dropped += int(n)
	}
	return dropped, nil
}
