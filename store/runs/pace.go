package runs

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"tracker/store/domain"
	"tracker/store/pace"
	"tracker/store/points"
)

const (
	// paceSiblings is the maximum number of other iterations whose rates Pace reads.
	paceSiblings = 20
	// paceSiblingPoints is the minimum number of points of an iteration whose rate is compared.
	paceSiblingPoints = 8
)

// Pace estimates the speed and the time left of a running iteration. The result is empty if the
// iteration has ended or has no metric. If siblings is set, Pace compares it with the newest other
// iterations of its experiment. The actor needs the right to read.
func (v *View) Pace(id string, siblings bool) (pace.Pace, error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, id, domain.RightRead)
	if err != nil || it.Status != domain.Running {
		return pace.Pace{}, err
	}
	return domain.WithinLimit(v.tx, domain.SlowRead(v.tx, "id"), func() (pace.Pace, error) { return readPace(v.tx, it, siblings) })
}

// Pace calls View.Pace in a new read transaction.
func (db *DB) Pace(ctx context.Context, actor domain.Actor, id string, siblings bool) (pace.Pace, error) {
	return view(ctx, db, actor, func(v *View) (pace.Pace, error) { return v.Pace(id, siblings) })
}

func readPace(tx *domain.Tx, it domain.IterationState, siblings bool) (p pace.Pace, err error) {
	latest, err := tx.Points().Latest([]int64{it.Num})
	if err != nil {
		return p, err
	}
	// The steps of system metrics count samples of the machine.
	latest = slices.DeleteFunc(latest, func(l points.Latest) bool { return strings.HasPrefix(l.Key, "system/") })
	if len(latest) == 0 {
		return p, nil
	}
	main := slices.MaxFunc(latest, func(a, b points.Latest) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.At, b.At), cmp.Compare(b.Key, a.Key))
	}).Key
	in := pace.Input{Now: tx.Now, Params: map[string]string{}}
	if in.Main, err = paceMetric(tx, it.Num, main, pace.TailPoints); err != nil {
		return p, err
	}
	err = EachText(tx, `SELECT iteration_num, key, value FROM parameter WHERE iteration_num = ? AND length(value) < 30`,
		func(_ int64, key, value string) { in.Params[key] = value }, it.Num)
	if err != nil {
		return p, err
	}
	in.Total = pace.TotalOf(in.Params)
	counted := false
	if in.Total != nil {
		var keys []string
		for _, l := range latest {
			keys = append(keys, l.Key)
		}
		if key := pace.CounterOf(in.Total.Unit, keys); key != "" {
			m, err := paceMetric(tx, it.Num, key, 1)
			if err != nil {
				return p, err
			}
			in.Counter, counted = &m, true
		}
	}
	if siblings || in.Total != nil && in.Total.Unit == pace.Epochs && !counted {
		if err := readSiblings(tx, it, &in); err != nil {
			return p, err
		}
	}
	if !siblings {
		in.Siblings = nil
	}
	return pace.Of(in), nil
}

// paceMetric returns the first point and the last points of a metric.
func paceMetric(tx *domain.Tx, iteration int64, key string, n int) (m pace.Metric, err error) {
	m.Key = key
	sample := func(p points.Point) pace.Sample { return pace.Sample{Step: p.Step, Value: p.Value, At: p.RecordedAt} }
	first, tail, ok, err := tx.Points().Tail(iteration, key, n)
	if err != nil || !ok {
		return m, err
	}
	m.First = sample(first)
	for _, p := range tail {
		m.Tail = append(m.Tail, sample(p))
	}
	return m, nil
}

// readSiblings reads the rates of the newest other iterations of the experiment into in. It sets
// StepsAreEpochs if the last step of each succeeded iteration with a number of epochs is this
// number, or one less.
func readSiblings(tx *domain.Tx, it domain.IterationState, in *pace.Input) error {
	param := ""
	if in.Total != nil && in.Total.Unit == pace.Epochs {
		param = in.Total.Param
	}
	var rows []struct {
		Num    int64                  `db:"num"`
		Status domain.IterationStatus `db:"status"`
		Epochs string                 `db:"epochs"`
	}
	err := tx.Select(&rows, `SELECT
			iteration.num,
			iteration.status,
			coalesce((SELECT value FROM parameter WHERE iteration_num = iteration.num AND key = ?), '') AS epochs
		FROM iteration
		WHERE iteration.experiment_id = ? AND iteration.deleted_date IS NULL AND iteration.num <> ?
		ORDER BY iteration.num DESC LIMIT ?`, param, it.ExperimentID, it.Num, paceSiblings)
	if err != nil {
		return err
	}
	alike, unlike := 0, 0
	for _, r := range rows {
		first, tail, ok, err := tx.Points().Tail(r.Num, in.Main.Key, paceSiblingPoints)
		if err != nil {
			return err
		}
		if !ok || len(tail) < paceSiblingPoints {
			continue
		}
		last := tail[len(tail)-1]
		if rate := pace.Rate(pace.Sample{Step: first.Step, At: first.RecordedAt}, pace.Sample{Step: last.Step, At: last.RecordedAt}); rate > 0 {
			in.Siblings = append(in.Siblings, rate)
		}
		if n, err := strconv.ParseFloat(r.Epochs, 64); err == nil && r.Status == domain.Succeeded {
			if step := float64(last.Step); step == n || step == n-1 {
				alike++
			} else {
				unlike++
			}
		}
	}
	in.StepsAreEpochs = alike > 0 && unlike == 0
	return nil
}
