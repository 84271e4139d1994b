package wandb

import (
	"context"
	"reflect"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/wandb"
)

// test reports whether a run matches a filter.
type test func(*subject) bool

// Limits for a filter. The time limit is checked only before each comparison, so a single
// comparison must not take long.
const (
	maxField   = 1000   // bytes in a field name
	maxNested  = 20     // dots in a field name
	maxRegexp  = 1000   // bytes in a regular expression
	maxProgram = 2000   // nodes in all regular expressions of a filter, with repetitions expanded
	maxMatched = 10_000 // bytes of a string that is matched against a regular expression
)

// filterParser parses a filter in MongoDB's query format.
type filterParser struct {
	program int // number of nodes in the regular expressions parsed so far
}

// subject is a run to which a filter is applied. The JSON fields of the run are decoded on
// first use. If field is not nil, the subject is another record with these fields.
type subject struct {
	ctx             context.Context
	field           func(name string) any
	r               *wandb.Record
	now             time.Time
	config, summary map[string]any
}

// filter parses an object that maps fields or operators to conditions.
func (p *filterParser) filter(f any, depth int) (test, error) {
	fields, ok := f.(map[string]any)
	if !ok || depth > maxDepth {
		return nil, domain.Invalid("filters", "A filter must be an object of names and conditions, nested up to %d levels deep.", maxDepth)
	}
	var all []test
	for name, condition := range fields {
		t, err := p.condition(name, condition, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return every(all), nil
}

func every(all []test) test {
	return func(s *subject) bool {
		for _, t := range all {
			if !t(s) {
				return false
			}
		}
		return true
	}
}

func (p *filterParser) condition(name string, condition any, depth int) (test, error) {
	switch name {
	case "$and", "$or", "$nor":
		list, ok := condition.([]any)
		if !ok {
			return nil, domain.Invalid("filters", "%s needs a list of filters.", name)
		}
		var all []test
		for _, f := range list {
			t, err := p.filter(f, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, t)
		}
		if name == "$and" {
			return every(all), nil
		}
		return func(s *subject) bool {
			for _, t := range all {
				if t(s) {
					return name == "$or"
				}
			}
			return name == "$nor"
		}, nil
	case "$not":
		t, err := p.filter(condition, depth+1)
		return func(s *subject) bool { return !t(s) }, err
	}
	if strings.HasPrefix(name, "$") {
		return nil, domain.Invalid("filters", "The operator %s is not supported.", web.Clip(name))
	}
	if len(name) > maxField || strings.Count(name, ".") > maxNested {
		return nil, domain.Invalid("filters", "The name of a field can have at most %d bytes and %d dots.", maxField, maxNested)
	}
	operators, ok := condition.(map[string]any)
	if !ok {
		return func(s *subject) bool { return equal(s.value(name), condition) }, nil
	}
	var all []test
	for op, want := range operators {
		t, err := p.operator(name, op, want, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return every(all), nil
}

func (p *filterParser) operator(name, op string, want any, depth int) (test, error) {
	order := func(pass func(int) bool) test {
		return func(s *subject) bool {
			v := s.value(name)
			return v != nil && rank(v) == rank(want) && pass(compare(v, want))
		}
	}
	switch op {
	case "$eq":
		return func(s *subject) bool { return equal(s.value(name), want) }, nil
	case "$ne":
		return func(s *subject) bool { return !equal(s.value(name), want) }, nil
	case "$gt":
		return order(func(c int) bool { return c > 0 }), nil
	case "$gte":
		return order(func(c int) bool { return c >= 0 }), nil
	case "$lt":
		return order(func(c int) bool { return c < 0 }), nil
	case "$lte":
		return order(func(c int) bool { return c <= 0 }), nil
	case "$in", "$nin":
		list, ok := want.([]any)
		if !ok {
			return nil, domain.Invalid("filters", "%s needs a list of values.", op)
		}
		return func(s *subject) bool {
			v := s.value(name)
			for _, w := range list {
				if s.ctx.Err() != nil {
					return false
				}
				if equal(v, w) {
					return op == "$in"
				}
			}
			return op == "$nin"
		}, nil
	case "$exists":
		return func(s *subject) bool { return (s.value(name) != nil) == (want == true) }, nil
	case "$regex":
		text, _ := want.(string)
		re, err := p.regexp(text)
		if err != nil {
			return nil, err
		}
		match := func(text string) bool { return re.MatchString(text[:min(len(text), maxMatched)]) }
		return func(s *subject) bool {
			switch v := s.value(name).(type) {
			case string:
				return match(v)
			case []any:
				for _, one := range v {
					if s.ctx.Err() != nil {
						return false
					}
					if text, ok := one.(string); ok && match(text) {
						return true
					}
				}
			}
			return false
		}, nil
	case "$not":
		t, err := p.condition(name, want, depth+1)
		return func(s *subject) bool { return !t(s) }, err
	}
	return nil, domain.Invalid("filters", "The operator %s is not supported.", web.Clip(op))
}

// regexp compiles a regular expression. It returns an error if the regular expressions of the
// filter are too large.
func (p *filterParser) regexp(text string) (*regexp.Regexp, error) {
	if len(text) > maxRegexp {
		return nil, domain.Invalid("filters", "A regular expression can have at most %d bytes.", maxRegexp)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err == nil {
		if p.program += sizeOf(parsed); p.program > maxProgram {
			return nil, domain.Invalid("filters", "The regular expressions of the filter are too large; repeat less in them.")
		}
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, domain.Invalid("filters", "The regular expression %q can't be read.", web.Clip(text))
	}
	return re, nil
}

// sizeOf returns the number of nodes in a regular expression with its repetitions expanded.
func sizeOf(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += sizeOf(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

// equal reports whether v equals want, or is a list that contains want.
func equal(v, want any) bool {
	if list, ok := v.([]any); ok {
		if _, isList := want.([]any); !isList {
			for _, one := range list {
				if reflect.DeepEqual(one, want) {
					return true
				}
			}
			return false
		}
	}
	return reflect.DeepEqual(v, want)
}

// value returns the value of a run's field, or nil if the run does not have the field.
func (s *subject) value(name string) any {
	if s.ctx.Err() != nil {
		return nil // the time limit is exceeded
	}
	if s.field != nil {
		return s.field(name)
	}
	name, _ = strings.CutPrefix(name, "run.")
	switch name {
	case "state":
		return stateOf(s.r, s.now)
	case "name":
		return s.r.RunID
	case "display_name", "displayName":
		return s.r.Name
	case "group", "groupName":
		return orNull(s.r.Group)
	case "jobType", "job_type":
		return orNull(s.r.JobType)
	case "sweep":
		return orNull(s.r.Sweep)
	case "notes", "description":
		return orNull(s.r.Notes)
	case "username":
		return nil
	case "tags":
		list := make([]any, len(s.r.Tags))
		for i, t := range s.r.Tags {
			list[i] = t
		}
		return list
	case "created_at", "createdAt":
		return isoTime(s.r.CreatedDate)
	case "heartbeat_at", "heartbeatAt", "updated_at":
		return isoTime(s.r.LastSeen)
	}
	if path, ok := strings.CutPrefix(name, "config."); ok {
		if s.config == nil {
			s.config = decoded(s.r.Config)
		}
		if v, ok := below(s.config, strings.TrimSuffix(path, ".value")).(map[string]any); ok && v["value"] != nil {
			return v["value"]
		}
		key, rest, _ := strings.Cut(path, ".")
		holder, _ := s.config[key].(map[string]any)
		value, _ := holder["value"].(map[string]any)
		return below(value, strings.TrimPrefix(rest, "value."))
	}
	if path, ok := strings.CutPrefix(name, "summary_metrics."); ok {
		if s.summary == nil {
			s.summary = decoded(s.r.Summary)
		}
		return below(s.summary, path)
	}
	return nil
}

// decoded parses text as a JSON object. NaN and infinities are not valid JSON and are converted
// to strings.
func decoded(text string) map[string]any {
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)); err == nil {
		return out
	}
	out, _ = loose(text).(map[string]any)
	return out
}

// below returns the value at a path of names joined by dots. A name can itself contain dots.
func below(o map[string]any, path string) any {
	if v, ok := o[path]; ok {
		return v
	}
	for i := range path {
		if path[i] != '.' {
			continue
		}
		if inner, ok := o[path[:i]].(map[string]any); ok {
			if v := below(inner, path[i+1:]); v != nil {
				return v
			}
		}
	}
	return nil
}
