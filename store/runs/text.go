package runs

import (
	"maps"
	"slices"
	"strings"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// MaxTexts is the maximum number of texts of an iteration that are read or set at once.
const MaxTexts = 1000

// TextsOf returns the texts in the summary of the iteration with number num, by name.
func TextsOf(tx *domain.Tx, num int64) (map[string]scalar.SummaryText, error) {
	all := map[string]scalar.SummaryText{}
	err := EachText(tx, `SELECT iteration_num, key, value FROM property
		WHERE iteration_num = ? AND key > ? AND key < ? ORDER BY key LIMIT ?`,
		func(_ int64, key, value string) {
			all[strings.TrimPrefix(key, scalar.SummaryPrefix)] = scalar.SummaryText(value)
		},
		num, scalar.SummaryPrefix, scalar.AfterSummary, MaxTexts)
	return all, err
}

// SetTexts sets texts in the summary of an iteration, and removes the texts with the given names. It
// returns the names of texts that can't be stored. The caller checks rights.
func SetTexts(tx *sqlite.Tx, num int64, set map[string]scalar.SummaryText, remove []string) (omitted []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		key := scalar.SummaryPrefix + name
		if len(set[name]) > scalar.MaxTextBytes || domain.CheckKey(key) != nil {
			omitted = append(omitted, name)
			continue
		}
		_, err := tx.Exec(`INSERT INTO property (iteration_num, key, value) VALUES (?, ?, ?)
			ON CONFLICT (iteration_num, key) WHERE iteration_num IS NOT NULL DO UPDATE SET value = excluded.value WHERE value <> excluded.value`,
			num, key, string(set[name]))
		if err != nil {
			return nil, err
		}
	}
	for _, name := range remove {
		if _, err := tx.Exec(`DELETE FROM property WHERE iteration_num = ? AND key = ?`, num, scalar.SummaryPrefix+name); err != nil {
			return nil, err
		}
	}
	return omitted, nil
}

// TextProperty returns the property that stores a text of the summary under a name.
func TextProperty(name string, t scalar.SummaryText) domain.Property {
	return domain.Property{Key: scalar.SummaryPrefix + name, Value: string(t)}
}
