package runs

import (
	"maps"
	"slices"
	"strings"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// TextsOf returns the texts in the summary of the iteration with number num, by name.
func TextsOf(tx *domain.Tx, num int64) (map[string]scalar.SummaryText, error) {
	all := map[string]scalar.SummaryText{}
	err := EachText(tx, `SELECT iteration_num, key, value FROM property
		WHERE iteration_num = ? AND key > ? AND key < ? ORDER BY key LIMIT ?`,
		func(_ int64, key, value string) {
			all[strings.TrimPrefix(key, scalar.SummaryPrefix)] = scalar.SummaryText(value)
		},
		num, scalar.SummaryPrefix, scalar.AfterSummary, scalar.MaxTexts)
	return all, err
}

// SetTexts sets texts in the summary of an iteration, and removes the texts with the given names.
// It returns the names of texts that can't be stored. The caller checks rights.
func SetTexts(tx *sqlite.Tx, num int64, set map[string]scalar.SummaryText, remove []string) (omitted []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !IsStorable(name, set[name]) {
			omitted = append(omitted, name)
			continue
		}
		if err := domain.PutProperty(tx, "iteration_num", num, TextProperty(name, set[name])); err != nil {
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

// IsStorable reports whether a text of a client of another protocol, and its name, are short enough
// to be stored as a property.
func IsStorable(name string, t scalar.SummaryText) bool {
	return len(t) <= scalar.MaxTextBytes && domain.CheckKey(scalar.SummaryPrefix+name) == nil
}

// TextProperty returns the property that stores a text of the summary under a name.
func TextProperty(name string, t scalar.SummaryText) domain.Property {
	return domain.Property{Key: scalar.SummaryPrefix + name, Value: string(t)}
}
