package runs

import (
	"context"

	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// curveCount returns a CurveCount that counts the memory of curves against the budget of ctx.
func curveCount(ctx context.Context) *points.CurveCount {
	return &points.CurveCount{Take: func(bytes int64) error { return domain.Take(ctx, bytes) }}
}

const (
	// summaryBytes is the size in memory of a metric's summary without the key. textBytes is the
	// overhead in memory of a string, in addition to its bytes.
	summaryBytes = 400
	textBytes    = 100
	// iterationBytes is the size in memory of an iteration without its text fields.
	iterationBytes = 1000
)

// takeSummaries reserves memory for the summaries of iterations before they are read. list is a
// JSON list of iteration numbers.
func takeSummaries(tx *domain.Tx, list any) error {
	var size int64
	err := tx.Row(`SELECT
			(SELECT coalesce(sum(octet_length(key) + ?), 0) FROM series WHERE iteration_num IN (SELECT value FROM json_each(?))) +
			(SELECT coalesce(sum(octet_length(key) + octet_length(value) + ?), 0) FROM parameter
				WHERE iteration_num IN (SELECT value FROM json_each(?))) +
			(SELECT coalesce(sum(octet_length(value) + ?), 0) FROM tag WHERE iteration_num IN (SELECT value FROM json_each(?))) +
			(SELECT coalesce(sum(octet_length(key) + octet_length(value) + ?), 0) FROM property
				WHERE iteration_num IN (SELECT value FROM json_each(?)) AND key > ? AND key < ?)`,
		summaryBytes, list, textBytes, list, textBytes, list, textBytes, list, scalar.SummaryPrefix, scalar.AfterSummary).Scan(&size)
	if err != nil {
		return err
	}
	if size > domain.MaxAnswerBytes {
		return domain.Invalid("id", "The response would be larger than %d MiB; request the parameters page by page.", domain.MaxAnswerBytes>>20)
	}
	return domain.Take(tx.Context(), size)
}

// takeIterations reserves memory for iterations and the requested texts before they are
// read. It returns the iterations of the page. If cut is set, the page ends before the first
// iteration that would exceed MaxPageBytes. The page contains at least one iteration.
func takeIterations(tx *domain.Tx, nums []int64, columns []filter.Column, cut bool) ([]int64, error) {
	var params, texts []string
	for _, c := range columns {
		switch c.Field {
		case filter.Param:
			params = append(params, c.Name)
		case filter.Summary:
			texts = append(texts, scalar.SummaryPrefix+c.Name)
		}
	}
	atOnce := len(nums)
	if len(params)+len(texts) > 0 {
		atOnce = sizesAtOnce
	}
	var sum int64
	for from := 0; from < len(nums) && sum <= domain.MaxAnswerBytes; from += atOnce {
		some := nums[from:min(len(nums), from+atOnce)]
		sizes, err := iterationSizes(tx, some, params, texts)
		if err != nil {
			return nil, err
		}
		for i, num := range some {
			if at := from + i; cut && at > 0 && sum+sizes[num] > domain.MaxPageBytes+int64(at+1)*iterationBytes {
				return nums[:at], domain.Take(tx.Context(), sum)
			}
			sum += sizes[num]
		}
	}
	if sum > domain.MaxAnswerBytes {
		return nil, domain.Invalid("columns", "The response would be larger than %d MiB; request fewer rows or columns.", domain.MaxAnswerBytes>>20)
	}
	return nums, domain.Take(tx.Context(), sum)
}

// sizesAtOnce is the number of iterations whose sizes takeIterations reads in one query if texts
// were requested. The number is small because SQLite reads most of a large text to determine its
// size.
const sizesAtOnce = 16

// iterationSizes returns the sizes of iterations in memory, by iteration number. Each size
// includes the parameters and properties with the given keys.
func iterationSizes(tx *domain.Tx, nums []int64, params, properties []string) (map[int64]int64, error) {
	return sizes(tx, `SELECT
			iteration.num,
			octet_length(iteration.name) + octet_length(iteration.notes) + ? + coalesce((
				SELECT sum(octet_length(parameter.key) + octet_length(parameter.value) + ?)
				FROM json_each(?) AS wanted
				JOIN parameter ON parameter.iteration_num = iteration.num AND parameter.key = wanted.value), 0) + coalesce((
				SELECT sum(octet_length(property.key) + octet_length(property.value) + ?)
				FROM json_each(?) AS wanted
				JOIN property ON property.iteration_num = iteration.num AND property.key = wanted.value), 0) AS size
		FROM iteration
		WHERE iteration.num IN (SELECT value FROM json_each(?))`, iterationBytes, textBytes, sqlite.JSON(params),
		textBytes, sqlite.JSON(properties), sqlite.JSON(nums))
}

// RecordSizes returns the sizes of iterations in memory, in bytes, by iteration number. Each size
// includes all records of the iteration. RecordSizes does not read the records.
func RecordSizes(tx *domain.Tx, nums []int64) (map[int64]int64, error) {
	return sizes(tx, `SELECT
			iteration.num,
			octet_length(iteration.notes) + ? +
			coalesce((SELECT octet_length(config) + octet_length(summary) + 2 * octet_length(about) FROM wandb_run WHERE iteration_num = iteration.num), 0) +
			coalesce((SELECT sum(2 * octet_length(key) + ?) FROM series WHERE iteration_num = iteration.num), 0) +
			coalesce((SELECT sum(2 * (octet_length(key) + octet_length(value)) + ?) FROM parameter WHERE iteration_num = iteration.num), 0) +
			coalesce((SELECT sum(octet_length(key) + octet_length(value) + ?) FROM property WHERE iteration_num = iteration.num), 0) +
			coalesce((SELECT sum(octet_length(dataset.source) + octet_length(dataset.schema) + octet_length(dataset.profile))
				FROM iteration_dataset JOIN dataset ON dataset.id = iteration_dataset.dataset_id
				WHERE iteration_dataset.iteration_num = iteration.num), 0) AS size
		FROM iteration
		WHERE iteration.num IN (SELECT value FROM json_each(?))`, iterationBytes, summaryBytes, textBytes, textBytes, sqlite.JSON(nums))
}

// sizes runs a query with the columns num and size. It returns a map from iteration numbers to
// sizes.
func sizes(tx *domain.Tx, query string, args ...any) (map[int64]int64, error) {
	var found []struct {
		Num  int64 `db:"num"`
		Size int64 `db:"size"`
	}
	err := tx.Select(&found, query, args...)
	sizes := make(map[int64]int64, len(found))
	for _, f := range found {
		sizes[f.Num] = f.Size
	}
	return sizes, err
}

// Fitting returns the number n of iterations at the beginning of nums that fit into limit bytes,
// and their total size. n is at least 1 if nums is not empty.
func Fitting(nums []int64, sizes map[int64]int64, limit int64) (n int, sum int64) {
	for n < len(nums) && (n == 0 || sum+sizes[nums[n]] <= limit) {
		sum += sizes[nums[n]]
		n++
	}
	return n, sum
}

// TakeRecords reserves memory for iterations and all their records before they are read. It
// returns the iterations at the beginning of nums that fit into limit bytes. It returns at
// least one iteration.
func TakeRecords(tx *domain.Tx, nums []int64, limit int64) ([]int64, error) {
	sizes, err := RecordSizes(tx, nums)
	if err != nil {
		return nil, err
	}
	n, sum := Fitting(nums, sizes, limit)
	return nums[:n], domain.Take(tx.Context(), sum)
}
