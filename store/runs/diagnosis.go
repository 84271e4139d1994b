package runs

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"tracker/store/console"
	"tracker/store/diagnosis"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/points"
	"tracker/store/scalar"
)

// Limits of a diagnosis.
const (
	maxOwnMetrics    = 60   // maximum number of metrics of the iteration that are read
	maxGauges        = 24   // maximum number of system metrics of the iteration that are read
	ownPoints        = 500  // maximum number of points of each metric
	partPoints       = 1000 // maximum number of points of a part of a metric
	maxSiblings      = 100  // maximum number of finished iterations whose metrics are read
	siblingPoints    = 100  // maximum number of points of each metric
	maxSiblingKeys   = 8    // maximum number of metrics that are read of finished iterations
	diagnosedLines   = 200  // maximum number of console lines that are searched for a crash
	diagnosedBytes   = 64 << 10
	shownConsole     = 8  // maximum number of console lines in a diagnosis
	maxAlike         = 20 // maximum number of ids of iterations that failed in the same way
	systemMinutes    = 5  // minutes of system metrics that are read
	lastSeenTemplate = "2006-01-02 15:04:05 UTC"
)

// Diagnosis explains the end of an iteration.
type Diagnosis struct {
	IterationID string `json:"iteration_id"`
	diagnosis.Diagnosis
	LastSeen scalar.Time `json:"last_seen"`
	// Console holds the last console lines, or the lines that lead to the crash.
	Console []console.Line `json:"console"`
	// ConsoleLine is the number of the line that shows the crash, or nil.
	ConsoleLine *int64 `json:"console_line"`
	// Alike holds the ids of other iterations that failed in the same way, newest first, at most
	// 20. The newest iterations of the experiment were compared. AlikeTotal includes omitted ids.
	Alike      []string `json:"alike"`
	AlikeTotal int      `json:"alike_total"`
}

// Shows reports whether the page of an iteration should show its diagnosis without being asked.
// This is the case if the iteration failed or was lost, or if the last value of a metric with a
// goal is not finite. s is the summary of the iteration.
func (s Summary) Shows(status domain.IterationStatus, lost bool) bool {
	if status == domain.Failed || lost {
		return true
	}
	for key, m := range s.Metrics {
		if !m.Last.Finite() && goal.Of(key) != "" && goal.InterestOf(key) < goal.Single {
			return true
		}
	}
	return false
}

// Diagnosis explains the end of an iteration. It compares the iteration with the newest
// iterations of its experiment. The result has no findings if the data show nothing unusual. The
// actor needs the right to read.
func (v *View) Diagnosis(id string) (Diagnosis, error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, id, domain.RightRead)
	if err != nil {
		return Diagnosis{}, err
	}
	return domain.WithinLimit(v.tx, domain.SlowRead(v.tx, "id"), func() (Diagnosis, error) { return diagnose(v.tx, it) })
}

// Diagnosis calls View.Diagnosis in a new read transaction.
func (db *DB) Diagnosis(ctx context.Context, actor domain.Actor, id string) (Diagnosis, error) {
	return view(ctx, db, actor, func(v *View) (Diagnosis, error) { return v.Diagnosis(id) })
}

func diagnose(tx *domain.Tx, it domain.IterationState) (d Diagnosis, err error) {
	d = Diagnosis{IterationID: it.ID, Console: []console.Line{}, Alike: []string{}}
	all, err := comparedRuns(tx, it.ExperimentID, it.Num)
	if err != nil {
		return d, err
	}
	self := slices.IndexFunc(all, func(c compared) bool { return c.Num == it.Num })
	d.LastSeen = tx.DB.LastSeen.Latest(it.Num, all[self].LastSeen)
	failed, finished := split(all)
	in := diagnosis.Input{Failure: all[self].failure, LastSeen: d.LastSeen.Time().Format(lastSeenTemplate), Finished: len(finished)}
	if in.Failed() {
		alike := alikeRuns(all, failed, self)
		for _, i := range alike {
			if i == self {
				continue
			}
			if d.AlikeTotal++; len(d.Alike) < maxAlike {
				d.Alike = append(d.Alike, all[i].ID)
			}
		}
		in.Alike = d.AlikeTotal
		if in.Traits, err = traits(tx, all, alike, finished, self); err != nil {
			return d, err
		}
	}
	if err := d.readConsole(tx, it.Num, &in); err != nil {
		return d, err
	}
	r := curveReader{tx: tx, num: it.Num, count: curveCount(tx.Context())}
	if err := r.read(&in); err != nil {
		return d, err
	}
	finished = slices.DeleteFunc(finished, func(i int) bool { return i == self })
	in.Read, in.Siblings = r.part, r.siblings(all, finished)
	d.Diagnosis, err = diagnosis.Of(in)
	return d, err
}

// alikeRuns returns the indexes of the iterations in the group of the iteration self.
func alikeRuns(all []compared, failed []int, self int) (alike []int) {
	name := all[self].failure.Group()
	for _, i := range failed {
		if all[i].failure.Group() == name {
			alike = append(alike, i)
		}
	}
	return alike
}

// readConsole reads the last console lines. A crash in these lines becomes in.Crash if there is
// no other crash, or if only the crash in these lines has a traceback.
func (d *Diagnosis) readConsole(tx *domain.Tx, num int64, in *diagnosis.Input) error {
	lines, crash, err := consoleEnd(tx, num, diagnosedLines, diagnosedBytes)
	if err != nil || len(lines) == 0 {
		return err
	}
	end := len(lines)
	ended := in.Outcome != diagnosis.Succeeded && in.Outcome != diagnosis.Running
	if ended && crash.Kind != diagnosis.None {
		end = min(end, crash.At()+1)
		d.ConsoleLine = &lines[crash.At()].Number
		if in.Crash.Kind == diagnosis.None || crash.Traceback && !in.Crash.Traceback {
			in.Crash = crash
		}
	}
	d.Console = lines[max(0, end-shownConsole):end]
	return nil
}

// curveReader reads the curves for a diagnosis.
type curveReader struct {
	tx    *domain.Tx
	num   int64
	count *points.CurveCount
	known map[string][]diagnosis.Series // curves of finished iterations, by metric
}

// read reads the metrics of the iteration and its last system metrics.
func (r *curveReader) read(in *diagnosis.Input) error {
	stats, err := r.tx.Points().Statistics(r.num)
	if err != nil {
		return err
	}
	var own, gauges []string
	unfinite := map[string]bool{}
	for _, s := range stats {
		if s.LastAt == nil {
			continue
		}
		unfinite[s.Key] = !s.Last.Finite()
		switch {
		case diagnosis.IsGauge(s.Key):
			gauges = append(gauges, s.Key)
		case goal.InterestOf(s.Key) < goal.Single:
			own = append(own, s.Key)
			in.End = max(in.End, int64(*s.LastAt))
		}
	}
	slices.SortFunc(own, func(a, b string) int {
		if unfinite[a] != unfinite[b] {
			return cmp.Compare(b2i(unfinite[b]), b2i(unfinite[a]))
		}
		return cmp.Or(cmp.Compare(goal.InterestOf(a), goal.InterestOf(b)), cmp.Compare(a, b))
	})
	slices.Sort(gauges)
	if own = own[:min(len(own), maxOwnMetrics)]; len(own) > 0 {
		if in.Series, err = r.curves(r.num, points.CurveQuery{Keys: own, Points: ownPoints, X: points.ByStep, Scale: points.Linear}); err != nil {
			return err
		}
	}
	if gauges = gauges[:min(len(gauges), maxGauges)]; len(gauges) == 0 {
		return nil
	}
	var last int64 // of the system metrics, which can be later than the other metrics
	for _, s := range stats {
		if s.LastAt != nil && slices.Contains(gauges, s.Key) {
			last = max(last, int64(*s.LastAt))
		}
	}
	in.End = max(in.End, last)
	in.System, err = r.curves(r.num, points.CurveQuery{Keys: gauges, Points: ownPoints, X: points.ByTime, Scale: points.Linear,
		From: new(last - (systemMinutes * time.Minute).Milliseconds())})
	return err
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// part reads a part of a metric of the iteration.
func (r *curveReader) part(key string, from, to int64) (diagnosis.Series, error) {
	all, err := r.curves(r.num, points.CurveQuery{Keys: []string{key}, Points: partPoints, X: points.ByStep, Scale: points.Linear,
		From: &from, To: &to})
	if err != nil || len(all) == 0 {
		return diagnosis.Series{Key: key}, err
	}
	return all[0], nil
}

// siblings returns a function that reads a metric of the newest iterations that finished, at
// most maxSiblings. It reads at most maxSiblingKeys metrics; further metrics have no curves.
func (r *curveReader) siblings(all []compared, finished []int) func(string) ([]diagnosis.Series, error) {
	r.known = map[string][]diagnosis.Series{}
	return func(key string) ([]diagnosis.Series, error) {
		if known, ok := r.known[key]; ok || len(r.known) >= maxSiblingKeys {
			return known, nil
		}
		var found []diagnosis.Series
		for _, i := range finished[:min(len(finished), maxSiblings)] {
			one, err := r.curves(all[i].Num, points.CurveQuery{Keys: []string{key}, Points: siblingPoints, X: points.ByStep, Scale: points.Linear})
			if err != nil {
				return nil, err
			}
			found = append(found, one...)
		}
		r.known[key] = found
		return found, nil
	}
}

func (r *curveReader) curves(num int64, q points.CurveQuery) ([]diagnosis.Series, error) {
	found, err := r.tx.Points().Curves(num, q, r.count)
	all := make([]diagnosis.Series, len(found))
	for i, c := range found {
		s := diagnosis.Series{Key: c.Key, Step: make([]int64, c.Shown), At: make([]int64, c.Shown), Value: make([]float64, c.Shown)}
		for j := range c.Shown {
			s.Step[j], s.At[j], s.Value[j] = int64(c.Step[j]), int64(c.RecordedAt[j]), float64(c.Value[j])
		}
		if c.Min != nil {
			s.Low, s.High = bounds(c.Min), bounds(c.Max)
		}
		all[i] = s
	}
	return all, err
}

// bounds converts the values to float64. Missing values become NaN.
func bounds(values []*points.Value) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = math.NaN()
		if v != nil {
			all[i] = float64(*v)
		}
	}
	return all
}
