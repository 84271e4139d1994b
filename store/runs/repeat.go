package runs

import (
	"database/sql/driver"
	"errors"
	"math"

	"tracker/store/difference"
	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/goal"
	"tracker/store/json"
	"tracker/store/search"
)

const (
	maxRepeats      = 2_000    // maximum number of runs that Repeats reads
	maxRepeatParams = 200_000  // maximum number of parameters that Repeats reads
	maxRepeatCode   = 64 << 20 // maximum number of bytes of code and packages that Repeats reads
	maxUsedDatasets = 100      // maximum number of datasets of a run that are compared
	maxUsingRuns    = 20       // maximum number of runs whose datasets are compared
)

var errEnough = errors.New("enough rows")

// Repeats returns the newest finished runs of an experiment that have a value of the objective.
// Runs that differ only in their seeds have the same key. It returns at most maxRepeats runs, and
// fewer if they have many parameters or much code. The actor needs the right to read.
func (v *View) Repeats(experimentID string, o goal.Objective) ([]difference.Repeat, error) {
	s, err := parseImportance(new(filter.Parser), ImportanceQuery{Target: o.Value(), Filter: `status = 'SUCCEEDED'`})
	if err != nil {
		return nil, err
	}
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead); err != nil {
		return nil, err
	}
	return Limited(v.tx, s.Query, func(in *search.Snapshot) ([]difference.Repeat, error) {
		var nums []int64
		found := map[int64]*difference.Repeat{}
		_, err := in.Results(experimentID, s.Query, s.target, maxRepeats, func(r search.Result) {
			if r.There {
				one := &difference.Repeat{Value: math.NaN()}
				if r.Value != nil {
					one.Value = *r.Value
				}
				nums, found[r.Num] = append(nums, r.Num), one
			}
		})
		if err != nil {
			return nil, err
		}
		if nums, err = addKeys(v.tx, nums, found); err != nil {
			return nil, err
		}
		all := make([]difference.Repeat, 0, len(nums))
		for _, num := range nums {
			all = append(all, *found[num])
		}
		return all, nil
	})
}

// addKeys sets the IDs and the keys of runs. It returns the numbers of the runs whose keys it
// set, because the limits can exclude the oldest runs.
func addKeys(tx *domain.Tx, nums []int64, found map[int64]*difference.Repeat) ([]int64, error) {
	list, err := json.Marshal(nums)
	if err != nil {
		return nil, err
	}
	keyers := map[int64]*difference.Keyer{}
	for _, num := range nums {
		keyers[num] = difference.NewKeyer()
	}
	const order = ` ORDER BY iteration_num DESC`
	oldest := int64(0) // runs with smaller numbers are not read
	rows := 0
	err = tx.EachRow(`SELECT iteration_num, key, value FROM parameter
		WHERE iteration_num IN (SELECT value FROM json_each(?))`+order+`, key`, func(row []driver.Value) error {
		num := row[0].(int64)
		if rows++; rows > maxRepeatParams {
			oldest = num + 1
			return errEnough
		}
		keyers[num].Param(row[1].(string), row[2].(string))
		return nil
	}, string(list))
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	coded, size := map[int64]bool{}, 0
	err = tx.EachRow(`SELECT iteration_num, git_sha, git_diff, dependencies FROM snapshot
		WHERE iteration_num IN (SELECT value FROM json_each(?)) AND iteration_num >= ?`+order, func(row []driver.Value) error {
		num, sha, diff, dependencies := row[0].(int64), row[1].(string), row[2].(string), row[3].(string)
		if size += len(diff) + len(dependencies); size > maxRepeatCode {
			oldest = num + 1
			return errEnough
		}
		keyers[num].Code(sha, diff, dependencies)
		coded[num] = true
		return nil
	}, string(list), oldest)
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	read := nums[:0:0]
	for _, num := range nums {
		if num < oldest {
			continue
		}
		if !coded[num] {
			keyers[num].Code("", "", "")
		}
		found[num].Key = keyers[num].Key()
		read = append(read, num)
	}
	return read, tx.EachRow(`SELECT num, id FROM iteration WHERE num IN (SELECT value FROM json_each(?))`, func(row []driver.Value) error {
		found[row[0].(int64)].ID = row[1].(string)
		return nil
	}, string(list))
}

// Difference returns the differences between two sets of runs. Each set has at least one run, and
// its runs can belong to any experiment. o is the objective of the given experiment; nil if it
// has none. The actor needs the right to read.
func (v *View) Difference(experimentID string, a, b []difference.Run, o *goal.Objective) (d difference.Difference, err error) {
	var repeats []difference.Repeat
	if o != nil {
		if repeats, err = v.Repeats(experimentID, *o); err != nil {
			return d, err
		}
	}
	for _, side := range [][]difference.Run{a, b} {
		for i := range side[:min(len(side), maxUsingRuns)] {
			used, err := v.Datasets(side[i].ID, domain.Page{Limit: maxUsedDatasets})
			if err != nil {
				return d, err
			}
			for _, one := range used.Data {
				side[i].Data = append(side[i].Data, difference.Datum{Name: one.Name, Digest: one.Digest})
			}
		}
	}
	return difference.Of(a, b, repeats, o), nil
}

// DifferenceRun returns the data of a run that Difference compares. o is nil if there is no
// objective.
func DifferenceRun(s Summary, n Snapshot, o *goal.Objective) difference.Run {
	r := difference.Run{ID: s.IterationID, Params: s.Params, GitSHA: n.GitSHA, GitDiff: n.GitDiff, Dependencies: n.Dependencies,
		Runtime: n.Runtime, Hostname: n.Hostname, Entrypoint: n.Entrypoint, Command: n.Command}
	if o == nil {
		return r
	}
	m, ok := s.Metrics[o.Metric]
	switch {
	case !ok:
	case o.Goal == goal.Minimize && m.Min != nil:
		r.Value = new(float64(*m.Min))
	case o.Goal == goal.Maximize && m.Max != nil:
		r.Value = new(float64(*m.Max))
	case o.Goal == "":
		r.Value = new(float64(m.Last))
	}
	return r
}
