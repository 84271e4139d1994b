package runs

import (
	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// parsed holds a parsed search. In a filter, names of parameters and metrics can lack the prefix
// param. or metric.; then the kind of a name depends on the experiments that are searched.
type parsed[T any] struct {
	search T
	bare   []filter.Key // names without a prefix, as each kind
	parse  func(*filter.Parser) (T, error)
}

// parse calls fn with a parser that treats each name without a prefix as a parameter. So syntax
// errors are found before a transaction begins. The result must be resolved before use.
func parse[T any](fn func(*filter.Parser) (T, error)) (out parsed[T], err error) {
	out.parse = fn
	out.search, err = fn(&filter.Parser{Known: func(k filter.Key) bool {
		out.bare = append(out.bare, k)
		return k.Field == filter.Param
	}})
	return out, err
}

// resolve returns the search with the kinds that names without a prefix have in the given
// experiments. It returns INVALID_PAYLOAD if a name has no kind or both kinds. resolve does not
// check rights.
func (p parsed[T]) resolve(tx *domain.Tx, experimentIDs ...string) (T, error) {
	if len(p.bare) == 0 {
		return p.search, nil
	}
	known, list := map[filter.Key]bool{}, sqlite.JSON(experimentIDs)
	for _, k := range p.bare {
		if _, ok := known[k]; ok {
			continue
		}
		var there bool
		err := tx.Row(`SELECT EXISTS (SELECT 1 FROM experiment_key
			WHERE experiment_id IN (SELECT value FROM json_each(?)) AND kind = ? AND key = ?)`, list, search.KindOf(k.Field), k.Name).Scan(&there)
		if err != nil {
			return p.search, err
		}
		known[k] = there
	}
	return p.parse(&filter.Parser{Known: func(k filter.Key) bool { return known[k] }})
}
