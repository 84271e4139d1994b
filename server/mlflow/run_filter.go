package mlflow

import (
	"slices"
	"strings"

	"tracker/store/filter"
)

// runAttributes maps attribute names to fields of a run.
var runAttributes = map[string]filter.Field{
	"run_id":       filter.CompactID,
	"run_name":     filter.Name,
	"run name":     filter.Name,
	"Run name":     filter.Name,
	"Run Name":     filter.Name,
	"status":       filter.Status,
	"user_id":      filter.User,
	"artifact_uri": filter.CompactID,
	"start_time":   filter.Created,
	"created":      filter.Created,
	"Created":      filter.Created,
	"end_time":     filter.Ended,
}

// datasetFields maps names to fields of a dataset.
var datasetFields = map[string]filter.Field{
	"name":    filter.DatasetName,
	"digest":  filter.DatasetDigest,
	"context": filter.DatasetContext,
}

// runTags maps tags that are stored as fields of a run to these fields. See tag.go.
var runTags = map[string]filter.Field{
	tagRunName:   filter.Name,
	tagNote:      filter.Notes,
	tagSource:    filter.Entrypoint,
	tagCommit:    filter.GitSHA,
	tagGitRemote: filter.GitRemote,
	tagUser:      filter.User,
}

// runFilter parses a filter for runs.
func runFilter(text string) (filter.Expr, error) {
	terms, err := parseFilter(text)
	if err != nil {
		return nil, err
	}
	var parts []filter.Expr
	for _, t := range terms {
		e, err := runTerm(t)
		if err != nil {
			return nil, err
		}
		parts = append(parts, e)
	}
	return allOf(parts), nil
}

func runTerm(t term) (filter.Expr, error) {
	switch t.entity {
	case "metric":
		return metricExpr(t, ref(filter.Metric, t.key))
	case "param":
		return textExpr(t, ref(filter.Param, t.key))
	case "dataset":
		field, ok := datasetFields[t.key]
		if !ok {
			return nil, badFilter("filter", "a dataset has no %q; use name, digest or context.", t.key)
		}
		return textExpr(t, ref(field, ""))
	case "tag":
		return tagTerm(t)
	}
	field, ok := runAttributes[t.key]
	switch {
	case !ok:
		return nil, badFilter("filter", "a run has no attribute %q; write metrics.%s, params.%s or tags.%s.", t.key, t.key, t.key, t.key)
	case field == filter.Created || field == filter.Ended:
		return timeExpr(t, field)
	case field == filter.Status:
		return statusTerm(t)
	case t.key == "artifact_uri":
		return artifactTerm(t)
	}
	return textExpr(t, ref(field, ""))
}

func tagTerm(t term) (filter.Expr, error) {
	if field, ok := runTags[t.key]; ok {
		return textExpr(t, ref(field, ""))
	}
	property, err := textExpr(t, ref(filter.Property, t.key))
	if err != nil || t.key != tagParent {
		return property, err
	}
	// If a run's parent is in another experiment, the parent's id is stored as a property.
	parent, err := textExpr(t, ref(filter.Parent, ""))
	return filter.Junction{Or: t.op != "IS NULL", Parts: []filter.Expr{parent, property}}, err
}

// statusTerm returns the condition of t for a status. The values of t are MLflow's status
// names.
func statusTerm(t term) (filter.Expr, error) {
	if err := t.wantTexts(); err != nil {
		return nil, err
	}
	in := filter.Comparison{Ref: ref(filter.Status, ""), Op: "in"}
	for name, status := range runStatuses {
		fits := func(v operand) bool { return v.text == name }
		if t.op == "LIKE" || t.op == "ILIKE" {
			fits = func(v operand) bool { return filter.Like(name, v.text, t.op == "ILIKE") }
		}
		if slices.ContainsFunc(t.values, fits) {
			in.Values = append(in.Values, filter.Literal{Text: string(status)})
		}
	}
	switch t.op {
	case "=", "IN", "LIKE", "ILIKE":
		return in, nil
	case "!=", "NOT IN":
		return filter.Negation{Part: in}, nil
	}
	return nil, badFilter("filter", "a status can't be compared with %s.", t.op)
}

// artifactTerm returns the condition of t for an artifact URI. It compares only the run id in
// the URI.
func artifactTerm(t term) (filter.Expr, error) {
	if t.op != "=" && t.op != "!=" {
		return nil, badFilter("filter", "artifact_uri can be compared only with = and !=.")
	}
	parts := strings.Split(strings.TrimPrefix(t.values[0].text, artifactScheme), "/")
	id := ""
	if len(parts) == 3 && parts[2] == "artifacts" && strings.HasPrefix(t.values[0].text, artifactScheme) {
		id = parts[1]
	}
	return textExpr(term{key: t.key, op: t.op, values: []operand{{id, t.values[0].quoted}}}, ref(filter.CompactID, ""))
}

// runOrder parses the order of a run search.
func runOrder(orderBy []string) ([]filter.SortKey, error) {
	var keys []filter.SortKey
	for _, text := range orderBy {
		entity, key, descending, err := parseOrder(text)
		if err != nil {
			return nil, err
		}
		r, err := runSortRef(entity, key)
		if err != nil {
			return nil, err
		}
		keys = append(keys, filter.SortKey{Ref: r, Descending: descending})
	}
	return append(keys,
		filter.SortKey{Ref: ref(filter.Created, ""), Descending: true},
		filter.SortKey{Ref: ref(filter.CompactID, "")}), nil
}

func runSortRef(entity, key string) (filter.Ref, error) {
	switch entity {
	case "metric":
		return ref(filter.Metric, key), nil
	case "param":
		r := ref(filter.Param, key)
		r.Stat = filter.AsText
		return r, nil
	case "tag":
		if field, ok := runTags[key]; ok {
			return ref(field, ""), nil
		}
		if key == tagParent {
			return ref(filter.Parent, ""), nil
		}
		return ref(filter.Property, key), nil
	case "attribute":
		if field, ok := runAttributes[key]; ok {
			return ref(field, ""), nil
		}
	}
	return filter.Ref{}, badFilter("order_by", "runs can't be sorted by %q; use metrics, params, tags, and the attributes start_time, end_time, status, run_name, run_id and user_id.", key)
}
