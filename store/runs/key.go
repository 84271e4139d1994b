package runs

import (
	"context"
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"

	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/scalar"
	"tracker/store/search"
)

// KeyQuery selects names of metrics, parameters and texts of summaries.
type KeyQuery struct {
	domain.Page
	Part    string          // substring of the name, ignoring case; "" matches all names
	Pattern bool            // Part is a regular expression in the syntax of package regexp; case is ignored
	Kind    *search.KeyKind // nil selects all kinds
}

// Keys returns a page of the names of an experiment's metrics, followed by the names of its
// parameters and of the texts of its summaries. Each kind of name is sorted alphabetically. The
// actor needs the right to read.
func (v *View) Keys(experimentID string, q KeyQuery) (domain.List[search.Key], error) {
	if q.Kind != nil {
		if err := domain.OneOf("kind", *q.Kind, search.MetricKey, search.ParamKey, search.SummaryKey); err != nil {
			return domain.List[search.Key]{}, err
		}
	}
	if err := domain.CheckShort("q", q.Part); err != nil {
		return domain.List[search.Key]{}, err
	}
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead); err != nil {
		return domain.List[search.Key]{}, err
	}
	if q.Part != "" && q.Pattern {
		return v.keysLike(experimentID, q)
	}
	var from search.SQL
	from.Add(`FROM experiment_key WHERE experiment_id = ?`, experimentID)
	if q.Kind != nil {
		from.Add(` AND kind = ?`, *q.Kind)
	}
	if q.Part != "" {
		from.Add(` AND `+search.Contains(`key`), q.Part)
	}
	return domain.PageOf[search.Key](v.tx, q.Page, `kind, key, iterations`, from.String(), `kind, key`, from.Args...)
}

// keysLike returns the page of names that match the regular expression q.Part.
func (v *View) keysLike(experimentID string, q KeyQuery) (domain.List[search.Key], error) {
	p := q.Clamp()
	l := domain.List[search.Key]{Data: []search.Key{}, Limit: p.Limit, Offset: p.Offset}
	pattern, err := regexp.Compile("(?i)" + q.Part)
	if err != nil {
		var wrong *syntax.Error
		if errors.As(err, &wrong) {
			return l, domain.Invalid("q", "This is not a valid regular expression: %s.", wrong.Code)
		}
		return l, domain.Invalid("q", "This is not a valid regular expression.")
	}
	return l, search.MatchingKeys(v.tx.Tx, experimentID, q.Kind, pattern, func(k search.Key) {
		if l.Total >= p.Offset && len(l.Data) < p.Limit {
			l.Data = append(l.Data, k)
		}
		l.Total++
	})
}

// Keys calls View.Keys in a new read transaction.
func (db *DB) Keys(ctx context.Context, actor domain.Actor, experimentID string, q KeyQuery) (domain.List[search.Key], error) {
	return view(ctx, db, actor, func(v *View) (domain.List[search.Key], error) { return v.Keys(experimentID, q) })
}

// maxFoundValues is the maximum number of values returned by ParamValues, TextValues and TagValues.
const maxFoundValues = 50

// FoundValue is a value of a parameter or the text of a tag.
type FoundValue struct {
	Value      string `json:"value" db:"value"`
	Iterations int    `json:"iterations" db:"iterations"` // number of iterations with the value
}

// ParamValues returns the values of a parameter that contain part, ignoring case. The most
// frequent value is first. The actor needs the right to read.
func (v *View) ParamValues(experimentID, key, part string) ([]FoundValue, error) {
	return v.values(experimentID, `parameter.value`, `JOIN parameter ON parameter.iteration_num = iteration.num AND parameter.key = ?`, part, key)
}

// TextValues returns the values of a text of summaries that contain part, as ParamValues does for
// a parameter.
func (v *View) TextValues(experimentID, name, part string) ([]FoundValue, error) {
	return v.values(experimentID, `property.value`, `JOIN property ON property.iteration_num = iteration.num AND property.key = ?`,
		part, scalar.SummaryPrefix+name)
}

// TagValues returns the tags of iterations that contain part, as ParamValues does for a
// parameter.
func (v *View) TagValues(experimentID, part string) ([]FoundValue, error) {
	return v.values(experimentID, `tag.value`, `JOIN tag ON tag.iteration_num = iteration.num`, part)
}

func (v *View) values(experimentID, column, join, part string, args ...any) ([]FoundValue, error) {
	if err := domain.CheckShort("q", part); err != nil {
		return nil, err
	}
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead); err != nil {
		return nil, err
	}
	all := []FoundValue{}
	err := v.tx.Select(&all, `SELECT `+column+` AS value, count(*) AS iterations
		FROM iteration `+join+`
		WHERE iteration.experiment_id = ? AND iteration.deleted_date IS NULL AND length(`+column+`) <= 250
		AND (? = '' OR `+search.Contains(column)+`)
		GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?`, append(args, experimentID, part, part, maxFoundValues)...)
	return all, err
}

// VaryingParams returns the parameters that vary among the newest iterations of an experiment,
// most frequent first. If the experiment has only one iteration, it returns all parameters.
// newest is the number of iterations to compare. The actor needs the right to read.
func (v *View) VaryingParams(experimentID string, newest int) ([]string, error) {
	return v.varying(experimentID, newest, `key`, `parameter`, `TRUE`)
}

// VaryingTexts returns the names of the texts of summaries that vary among the newest iterations,
// as VaryingParams does for parameters.
func (v *View) VaryingTexts(experimentID string, newest int) ([]string, error) {
	return v.varying(experimentID, newest, search.TextName, `property`, `key > ? AND key < ?`, scalar.SummaryPrefix, scalar.AfterSummary)
}

// varying returns the names in a table that vary among the newest iterations. column is the name,
// and where selects the rows.
func (v *View) varying(experimentID string, newest int, column, table, where string, args ...any) (names []string, err error) {
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead); err != nil {
		return nil, err
	}
	err = v.tx.Select(&names, `
		WITH newest AS MATERIALIZED (
			SELECT num FROM iteration WHERE experiment_id = ? AND deleted_date IS NULL ORDER BY num DESC LIMIT ?
		)
		SELECT `+column+`
		FROM newest
		JOIN `+table+` ON `+table+`.iteration_num = newest.num
		WHERE `+where+`
		GROUP BY key
		HAVING min(value) <> max(value) OR (SELECT count(*) FROM newest) = 1
		ORDER BY count(*) DESC, key`, append([]any{experimentID, newest}, args...)...)
	return names, err
}

// UnknownNames returns the names in a filter that no iteration of the experiment has. The
// result is sorted alphabetically. UnknownNames returns INVALID_PAYLOAD if the filter can't be
// parsed. The actor needs the right to read.
func (v *View) UnknownNames(experimentID, where string) ([]search.Unknown, error) {
	q, err := parse(func(p *filter.Parser) ([]filter.Key, error) {
		_, err := p.Filter(where)
		return p.Keys(), domain.Refused(err)
	})
	if err != nil {
		return nil, err
	}
	if _, err := v.tx.AllowExperiment(v.tx.Actor, experimentID, domain.RightRead); err != nil {
		return nil, err
	}
	keys, err := q.resolve(v.tx, experimentID)
	if err != nil {
		return nil, err
	}
	return search.UnknownKeys(v.tx.Tx, experimentID, keys)
}

// SameParams returns the given keys whose parameters are equal in all iterations that match a
// filter. The result has the order of keys. It includes keys that no iteration has. The actor
// needs the right to read.
func (db *DB) SameParams(ctx context.Context, actor domain.Actor, experimentID, where string, keys []string) ([]string, error) {
	q, err := parseSearch(IterationQuery{Filter: where})
	if err != nil {
		return nil, err
	}
	if len(keys) > filter.MaxColumns {
		return nil, domain.Invalid("columns", "At most %d names can be requested at once.", filter.MaxColumns)
	}
	return domain.Read(ctx, db.base, func(tx *domain.Tx) ([]string, error) {
		if _, err := tx.AllowExperiment(actor, experimentID, domain.RightRead); err != nil {
			return nil, err
		}
		s, err := q.resolve(tx, experimentID)
		if err != nil {
			return nil, err
		}
		vary, err := Limited(tx, s.Query, func(in *search.Snapshot) (map[string]bool, error) {
			return in.VaryingParams(experimentID, s.Query, keys)
		})
		return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return vary[k] }), err
	})
}
