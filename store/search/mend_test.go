package search

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jmoiron/sqlx"

	"tracker/store/sqlite"
)

// compare orders values as SQLite sorts them.
func TestTermsCompareAsSQLiteSorts(t *testing.T) {
	db, err := sqlx.Connect("sqlite", sqlite.DSN(filepath.Join(t.TempDir(), "values.db")))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	values := []driver.Value{nil, "", "a", "A", "ab", "ä", "\U0001f600", "\uffff", "a\x00b", "9", "10",
		int64(0), int64(-1), int64(1 << 53), int64(1<<53 + 1), int64(math.MaxInt64), int64(math.MinInt64),
		0.5, -0.5, 1e300, float64(1 << 53), float64(1 << 63), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64}
	rng := rand.New(rand.NewPCG(1, 1))
	rng.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	if _, err := db.Exec(`CREATE TABLE record (num INTEGER PRIMARY KEY, value)`); err != nil {
		t.Fatal(err)
	}
	nums := []int{}
	for i, v := range values {
		if _, err := db.ExecContext(context.Background(), `INSERT INTO record VALUES (?, ?)`, i, v); err != nil {
			t.Fatal(err)
		}
		nums = append(nums, i)
	}
	for _, term := range []term{{"value", false}, {"value", true}} {
		var want []int
		if err := db.Select(&want, `SELECT num FROM record ORDER BY value`+term.direction()+`, num`); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(nums, func(a, b int) int { return cmp.Or(term.compare(values[a], values[b]), cmp.Compare(a, b)) })
		if !slices.Equal(nums, want) {
			t.Errorf("%s: %s\nSQLite: %s", term.direction(), texts(values, nums), texts(values, want))
		}
	}
}

func texts(values []driver.Value, nums []int) (all []string) {
	for _, n := range nums {
		all = append(all, fmt.Sprintf("%T %q", values[n], fmt.Sprint(values[n])))
	}
	return all
}
