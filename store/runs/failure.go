package runs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"tracker/store/console"
	"tracker/store/diagnosis"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/scalar"
)

// Limits of comparing the failures of an experiment.
const (
	// MaxCompared is the maximum number of iterations that are compared. If an experiment has
	// more, only the newest are compared.
	MaxCompared = 2000
	// MaxFailureGroups is the maximum number of groups in a result.
	MaxFailureGroups = 20
	// MaxGroupRuns is the maximum number of iterations listed in a group.
	MaxGroupRuns = 20

	messageEnd    = 4000     // maximum number of characters that are read from the end of an error message
	maxConsoles   = 200      // maximum number of iterations whose console is read
	tailLines     = 40       // maximum number of console lines that are read from each console
	tailBytes     = 16 << 10 // maximum size in bytes of these lines
	maxComparedBy = 500      // maximum number of iterations in each set whose parameters are compared
)

// FailureGroup is a set of iterations that failed in the same way.
type FailureGroup struct {
	Cause  string            // sentence about the failure of the newest iteration
	Kind   diagnosis.Kind    // kind of the crash
	Runs   []FailedRun       // newest first, at most MaxGroupRuns
	Count  int               // number of iterations, including omitted ones
	Traits []diagnosis.Trait // parameters that set the group apart from the iterations that finished
}

// FailedRun is an iteration that failed, diverged or was lost.
type FailedRun struct {
	ID      string
	Name    string
	Outcome diagnosis.Outcome
}

// Failures holds the failures of an experiment.
type Failures struct {
	Groups   []FailureGroup // largest first, at most MaxFailureGroups
	Left     int            // number of omitted groups
	Failed   int            // number of iterations that failed, diverged or were lost
	Finished int            // number of iterations that succeeded and did not diverge
	Compared int            // number of iterations that were compared
}

// compared is an iteration that takes part in the comparison of an experiment's failures.
type compared struct {
	Num      int64                  `db:"num"`
	ID       string                 `db:"id"`
	Name     string                 `db:"name"`
	Status   domain.IterationStatus `db:"status"`
	LastSeen scalar.Time            `db:"last_seen"`
	Message  string                 `db:"message"`
	failure  diagnosis.Failure
}

var outcomes = map[domain.IterationStatus]diagnosis.Outcome{domain.Running: diagnosis.Running, domain.Succeeded: diagnosis.Succeeded,
	domain.Failed: diagnosis.Failed, domain.Killed: diagnosis.Killed}

// outcome returns the state of an iteration. A running iteration that is silent is lost.
func (i compared) outcome(tx *domain.Tx) diagnosis.Outcome {
	if i.Status.Lost(tx.DB.LastSeen.Latest(i.Num, i.LastSeen), tx.Now) {
		return diagnosis.Lost
	}
	return outcomes[i.Status]
}

// comparedRuns reads the newest iterations of an experiment, newest first, and determines how
// each of them failed. If also is not 0, the iteration with this number is always included.
func comparedRuns(tx *domain.Tx, experimentID string, also int64) ([]compared, error) {
	if err := domain.Take(tx.Context(), MaxCompared*iterationBytes); err != nil {
		return nil, err
	}
	const columns = `SELECT num, id, name, status, last_seen, substr(error_message, ?) AS message FROM iteration WHERE `
	var all []compared
	err := tx.Select(&all, columns+`num = ? UNION ALL SELECT * FROM (`+columns+`experiment_id = ? AND deleted_date IS NULL AND num <> ?
		ORDER BY num DESC LIMIT ?) ORDER BY num DESC`, -messageEnd, also, -messageEnd, experimentID, also, MaxCompared)
	if err != nil {
		return nil, err
	}
	nums := make([]int64, len(all))
	for i := range all {
		nums[i] = all[i].Num
		all[i].failure = diagnosis.Failure{Outcome: all[i].outcome(tx), Message: all[i].Message}
	}
	if err := diverged(tx, all, nums); err != nil {
		return nil, err
	}
	consoles := 0
	for i := range all {
		f := &all[i].failure
		if f.Message != "" {
			f.Crash = diagnosis.Recognise(strings.Split(f.Message, "\n"))
		}
		if f.Outcome == diagnosis.Succeeded || f.Outcome == diagnosis.Running || f.Crash.Kind != diagnosis.None {
			continue
		}
		if consoles++; consoles > maxConsoles && all[i].Num != also {
			continue
		}
		if _, f.Crash, err = consoleEnd(tx, all[i].Num, tailLines, tailBytes); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// consoleEnd returns the last console lines of an iteration and the crash that they show.
func consoleEnd(tx *domain.Tx, num int64, lines, bytes int) ([]console.Line, diagnosis.Crash, error) {
	part, err := console.Read(tx.Tx, num, console.Query{Limit: lines}, bytes)
	texts := make([]string, len(part.Lines))
	for i, l := range part.Lines {
		texts[i] = l.Text
	}
	return part.Lines, diagnosis.Recognise(texts), err
}

// diverged sets failure.Diverged of each iteration to the metrics whose last value is not finite.
// It ignores metrics whose names do not suggest a goal. It also ignores a metric whose last value
// is not finite in most of the iterations that succeeded.
func diverged(tx *domain.Tx, all []compared, nums []int64) error {
	found, err := tx.Points().Unfinite(nums...)
	if err != nil || len(found) == 0 {
		return err
	}
	found = slices.DeleteFunc(found, func(s points.Series) bool { return goal.Of(s.Key) == "" || goal.InterestOf(s.Key) >= goal.Single })
	at := make(map[int64]*compared, len(all))
	var succeeded []int64
	for i := range all {
		at[all[i].Num] = &all[i]
		if all[i].Status == domain.Succeeded {
			succeeded = append(succeeded, all[i].Num)
		}
	}
	bad, keys := map[string]int{}, map[string]bool{}
	for _, s := range found {
		keys[s.Key] = true
		if at[s.Iteration].Status == domain.Succeeded {
			bad[s.Key]++
		}
	}
	having, err := runsWith(tx, succeeded, keys)
	if err != nil {
		return err
	}
	for _, s := range found {
		if bad[s.Key] > 1 && 2*bad[s.Key] > having[s.Key] {
			continue
		}
		f := &at[s.Iteration].failure
		f.Diverged = append(f.Diverged, s.Key)
	}
	for i := range all {
		slices.SortStableFunc(all[i].failure.Diverged, func(a, b string) int {
			// Metrics of training data come first, because metrics of held-out data diverge after
			// them.
			return cmp.Compare(goal.InterestOf(b), goal.InterestOf(a))
		})
	}
	return nil
}

// runsWith returns how many of the given iterations have each of the metrics.
func runsWith(tx *domain.Tx, nums []int64, keys map[string]bool) (map[string]int, error) {
	var names []string
	for key := range keys {
		names = append(names, key)
	}
	list, err := json.Marshal(nums)
	if err != nil {
		return nil, err
	}
	wanted, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	var found []struct {
		Key   string `db:"key"`
		Count int    `db:"count"`
	}
	err = tx.Select(&found, `SELECT key, count(*) AS count FROM series
		WHERE iteration_num IN (SELECT value FROM json_each(?)) AND key IN (SELECT value FROM json_each(?)) GROUP BY key`,
		string(list), string(wanted))
	having := map[string]int{}
	for _, f := range found {
		having[f.Key] = f.Count
	}
	return having, err
}

// split returns the indexes of the iterations that failed and of the iterations that finished.
func split(all []compared) (failed, finished []int) {
	for i, c := range all {
		switch {
		case c.failure.Failed():
			failed = append(failed, i)
		case c.Status == domain.Succeeded:
			finished = append(finished, i)
		}
	}
	return failed, finished
}

// traits returns the parameters that set failed iterations apart from finished iterations. failed
// and finished hold indexes into all. If self is not negative, it is the index of the iteration
// that is explained. At most maxComparedBy iterations of each set are compared.
func traits(tx *domain.Tx, all []compared, failed, finished []int, self int) ([]diagnosis.Trait, error) {
	failed, finished = failed[:min(len(failed), maxComparedBy)], finished[:min(len(finished), maxComparedBy)]
	if self >= 0 && !slices.Contains(failed, self) {
		failed = append(slices.Clone(failed), self)
	}
	var nums []int64
	at := func(of []int) (places []int) {
		for _, i := range of {
			places = append(places, len(nums))
			nums = append(nums, all[i].Num)
		}
		return places
	}
	place := -1
	failedAt, finishedAt := at(failed), at(finished)
	if self >= 0 {
		place = failedAt[slices.Index(failed, self)]
	}
	columns, err := importanceColumns(tx, nums)
	own := make([]diagnosis.Column, len(columns))
	for i, c := range columns {
		own[i] = diagnosis.Column(c)
	}
	return diagnosis.Traits(own, failedAt, finishedAt, place), err
}

// Failures returns the failures of an experiment in groups. It compares the newest iterations, at
// most MaxCompared. The actor needs the right to read.
func (v *View) Failures(experimentID string) (Failures, error) {
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead); err != nil {
		return Failures{}, err
	}
	return domain.WithinLimit(v.tx, domain.SlowRead(v.tx, "id"), func() (Failures, error) { return failures(v.tx, experimentID) })
}

func failures(tx *domain.Tx, experimentID string) (out Failures, err error) {
	all, err := comparedRuns(tx, experimentID, 0)
	if err != nil {
		return out, err
	}
	failed, finished := split(all)
	out.Failed, out.Finished, out.Compared = len(failed), len(finished), len(all)
	signs := make([]diagnosis.Failure, len(failed))
	for i, at := range failed {
		signs[i] = all[at].failure
	}
	groups := diagnosis.Groups(signs)
	out.Left = max(0, len(groups)-MaxFailureGroups)
	for _, g := range groups[:len(groups)-out.Left] {
		one := FailureGroup{Count: len(g.Members), Cause: signs[g.Members[0]].Cause(), Kind: signs[g.Members[0]].Crash.Kind}
		members := make([]int, len(g.Members))
		for i, m := range g.Members {
			members[i] = failed[m]
			if c := all[failed[m]]; i < MaxGroupRuns {
				one.Runs = append(one.Runs, FailedRun{c.ID, c.Name, c.failure.Outcome})
			}
		}
		if one.Traits, err = traits(tx, all, members, finished, -1); err != nil {
			return out, err
		}
		out.Groups = append(out.Groups, one)
	}
	return out, nil
}

// FailedCount returns how many of the newest iterations of an experiment, at most MaxCompared,
// have failed or are lost. The actor needs the right to read.
func (v *View) FailedCount(experimentID string) (n int, err error) {
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead); err != nil {
		return 0, err
	}
	var all []compared
	err = v.tx.Select(&all, `SELECT num, '' AS id, '' AS name, status, last_seen, '' AS message FROM (
			SELECT num, status, last_seen FROM iteration WHERE experiment_id = ? AND deleted_date IS NULL ORDER BY num DESC LIMIT ?)
		WHERE status = 'FAILED' OR status = 'RUNNING' AND last_seen < ?`, experimentID, MaxCompared, domain.LostBefore(v.tx.Now))
	for _, i := range all {
		if o := i.outcome(v.tx); o == diagnosis.Failed || o == diagnosis.Lost {
			n++
		}
	}
	return n, err
}

// Failures calls View.Failures in a new read transaction.
func (db *DB) Failures(ctx context.Context, actor domain.Actor, experimentID string) (Failures, error) {
	return view(ctx, db, actor, func(v *View) (Failures, error) { return v.Failures(experimentID) })
}
