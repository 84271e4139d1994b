package mlflow_test

import (
	"runtime"
	"strings"
	"testing"

	"tracker/server/mlflow"
	"tracker/store/filter"
	"tracker/store/json"
)

// FuzzBatch checks that the memory allocated to decode any batch is bounded by its length and its
// number of values. An empty metric takes three bytes in the body and becomes a value of 112 bytes
// in a growing list.
func FuzzBatch(f *testing.F) {
	metric := `{"key":"a","value":1,"timestamp":1,"step":1}`
	for _, body := range []string{
		`{"run_id":"r","metrics":[` + metric + `],"params":[{"key":"p","value":"1"}],"tags":[{"key":"t","value":"v"}]}`,
		`{"metrics":[{"key":7,"value":"NaN","timestamp":"5","step":1.0,"model_id":"m","dataset_name":null}]}`,
		`{"metrics":[` + strings.Repeat(metric+",", 999) + metric + `]}`,
		`{"metrics":[` + strings.Repeat("{},", 40_000) + `{}]}`, `{"params":[` + strings.Repeat("{},", 40_000) + `{}]}`,
		`{"metrics":[{"value":` + strings.Repeat("9", 50_000) + `}]}`, `{"metrics":[{"step":"` + strings.Repeat(`\u0031`, 10_000) + `"}]}`,
		`{"tags":[{"key":"` + strings.Repeat(`\ud83d\ude00`, 5000) + `"}]}`, `{"metrics":[{` + strings.Repeat(`"step":1,`, 5000) + `"step":2}]}`,
		`{"metrics":` + strings.Repeat("[", 9000), strings.Repeat(`{"metrics":`, 5000), `{"unknown":` + strings.Repeat(`[{"a":`, 4000), `null`, `{"metrics":null}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		values := json.Values(body)
		if len(body) == 0 || values > mlflow.MaxValues {
			return // rejected before it is decoded
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n, err := mlflow.DecodeBatch(body)
		runtime.ReadMemStats(&after)
		const perByte, perValue, fixed = 16, 1 << 10, 4 << 20 // most of fixed is for nesting
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(body)*perByte+values*perValue+fixed) {
			t.Errorf("%d bytes with %d values allocate %d", len(body), values, took)
		}
		if n > values || err == nil && n > mlflow.MaxBatch {
			t.Errorf("%d values have %d metrics, params and tags: %v", values, n, err)
		}
	})
}

// FuzzFilter parses filters and orders of the protocol. The memory that parsing allocates is
// proportional to the length of the text, and the result is within the limits of a search.
func FuzzFilter(f *testing.F) {
	for _, text := range []string{
		"metrics.loss < 0.1 AND params.`a b` LIKE '%x_' and tags.\"k\" != 'it''s'", "attributes.status IN ('RUNNING', 'FAILED',)", "start_time >= 5 DESC",
		"tag.k IS NOT NULL AND dataset.name ILIKE 'é%'", "run_id NOT IN (", "`", "metrics.", strings.Repeat("name = 'a' AND ", 300) + "name = 'a'", strings.Repeat("'", 20_000),
		"name IN (" + strings.Repeat("'a',", 5000) + ")", strings.Repeat("metrics.a < 1 AND ", 5000),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n, err := mlflow.ReadSearch(text)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(text))*400+256<<10 {
			t.Errorf("%d bytes allocate %d", len(text), took)
		}
		if err == nil && n > filter.MaxComparisons {
			t.Errorf("%q has %d comparisons", text, n)
		}
	})
}
