package mlflow

import (
	"slices"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/scalar"
)

type registrySearch struct {
	Filter     text    `json:"filter"`
	MaxResults integer `json:"max_results"`
	OrderBy    texts   `json:"order_by"`
	PageToken  text    `json:"page_token"`
}

type modelPage struct {
	Models []registeredModel `json:"registered_models,omitempty"`
	Next   string            `json:"next_page_token,omitzero"`
}

func (c *call) searchRegisteredModels(in registrySearch) (out modelPage, err error) {
	p, err := requestedPage(in.MaxResults, in.PageToken, modelsPage, maxModelsPage)
	if err != nil {
		return out, err
	}
	match, properties, err := modelFilter(string(in.Filter))
	if err != nil {
		return out, err
	}
	order, err := modelOrder(in.OrderBy)
	if err != nil {
		return out, err
	}
	project, err := c.searchedProject()
	if err != nil || project == "" {
		return out, err
	}
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		heads, err := v.Models.FindModels(project, properties, match)
		if err != nil {
			return err
		}
		slices.SortFunc(heads, order.compare)
		ids := idsOf(pageOf(heads, p.Offset, p.Limit), func(h registry.ModelHead) string { return h.ID })
		size := 0
		for some := range slices.Chunk(ids, recordsAtOnce) {
			all, err := v.Models.RegisteredModels(project, some)
			if err != nil {
				return err
			}
			for _, m := range all {
				if size > maxAnswerBytes {
					break
				}
				out.Models = append(out.Models, registeredModelOf(m))
				size += len(m.Description) + propertyBytes(m.Properties)
				for _, latest := range m.Latest {
					size += versionBytes(latest)
				}
			}
		}
		out.Next = pageToken(p.Offset, len(out.Models), len(heads))
		return nil
	})
	return out, err
}

// listRegisteredModels is like searchRegisteredModels, but treats a max_results of 0 as not set.
// Clients of MLflow 1.x use it.
func (c *call) listRegisteredModels(in registrySearch) (modelPage, error) {
	if in.MaxResults.n == 0 {
		in.MaxResults = integer{}
	}
	return c.searchRegisteredModels(in)
}

func idsOf[T any](all []T, id func(T) string) []string {
	ids := make([]string, len(all))
	for i, one := range all {
		ids[i] = id(one)
	}
	return ids
}

func propertyBytes(all []domain.Property) (n int) {
	for _, p := range all {
		n += len(p.Key) + len(p.Value)
	}
	return n
}

func versionBytes(v registry.RegisteredVersion) int {
	return 500 + len(v.Description) + len(v.Source) + propertyBytes(v.Properties)
}

// modelFilter parses a filter for registered models.
func modelFilter(text string) (func(registry.ModelHead) bool, []registry.PropertyMatch, error) {
	return registryFilter("a registered model", text, func(t term) (func(registry.ModelHead) bool, error) {
		if t.key != "name" {
			return nil, badFilter("filter", "a registered model has no attribute %q that can be searched; use name or tags.", t.key)
		}
		match, err := t.textMatch()
		return on(func(h registry.ModelHead) string { return h.Name }, match), err
	})
}

// registryFilter parses a filter for models or versions. The function attribute returns the
// condition for a term about an attribute.
func registryFilter[T any](what, text string, attribute func(term) (func(T) bool, error)) (func(T) bool, []registry.PropertyMatch, error) {
	terms, err := parseFilter(text)
	if err != nil {
		return nil, nil, err
	}
	terms, prompt, err := promptTag(terms)
	if err != nil {
		return nil, nil, err
	}
	properties, matches := []registry.PropertyMatch{prompt}, []func(T) bool{}
	for _, t := range terms {
		switch t.entity {
		case "tag":
			p, err := t.propertyMatch()
			if err != nil {
				return nil, nil, err
			}
			properties = append(properties, p)
		case "attribute":
			match, err := attribute(t)
			if err != nil {
				return nil, nil, err
			}
			matches = append(matches, match)
		default:
			return nil, nil, badFilter("filter", "%s has no %ss; use attributes and tags.", what, t.entity)
		}
	}
	return allMatch(matches), properties, nil
}

func modelOrder(orderBy []string) (ordering[registry.ModelHead], error) {
	var order ordering[registry.ModelHead]
	err := eachOrder(orderBy, func(key string, descending bool) error {
		switch key {
		case "name":
			order = append(order, by(func(h registry.ModelHead) string { return h.Name }, descending))
		case "creation_timestamp":
			order = append(order, by(func(h registry.ModelHead) scalar.Time { return h.CreatedDate }, descending))
		case "last_updated_timestamp", "timestamp":
			order = append(order, by(func(h registry.ModelHead) scalar.Time { return h.UpdatedDate }, descending))
		default:
			return badFilter("order_by", "registered models can't be sorted by %q; use name, creation_timestamp and last_updated_timestamp.", key)
		}
		return nil
	})
	return append(order, by(func(h registry.ModelHead) string { return h.Name }, false)), err
}

// eachOrder calls fn for each attribute in orderBy. It returns an error if an attribute is
// repeated.
func eachOrder(orderBy []string, fn func(key string, descending bool) error) error {
	seen := map[string]bool{}
	for _, text := range orderBy {
		entity, key, descending, err := parseOrder(text)
		if err != nil {
			return err
		}
		if entity != "attribute" {
			return badFilter("order_by", "%q is not an attribute, and only attributes can be sorted by.", text)
		}
		if seen[key] {
			return badFilter("order_by", "%q is named twice.", key)
		}
		seen[key] = true
		if err := fn(key, descending); err != nil {
			return err
		}
	}
	return nil
}

const (
	versionsPage    = 10_000
	maxVersionsPage = 200_000
)

func (c *call) searchVersions(in registrySearch) (out versionsAnswer, err error) {
	p, err := requestedPage(in.MaxResults, in.PageToken, versionsPage, maxVersionsPage)
	if err != nil {
		return out, err
	}
	var name *string // set if the filter selects the versions of a single model
	match, properties, err := registryFilter("a model version", string(in.Filter), func(t term) (func(registry.VersionHead) bool, error) {
		if t.key == "name" && t.op == "=" {
			name = &t.values[0].text
		}
		return versionTerm(t)
	})
	if err != nil {
		return out, err
	}
	order, err := versionOrder(in.OrderBy)
	if err != nil {
		return out, err
	}
	project, err := c.searchedProject()
	if err != nil || project == "" {
		return out, err
	}
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		heads, err := v.Models.FindVersions(project, name, properties, match)
		if err != nil {
			return err
		}
		slices.SortFunc(heads, order.compare)
		ids := idsOf(pageOf(heads, p.Offset, p.Limit), func(h registry.VersionHead) string { return h.ID })
		size := 0
		for some := range slices.Chunk(ids, recordsAtOnce) {
			if size > maxAnswerBytes {
				break
			}
			all, err := v.Models.RegisteredVersions(project, some)
			if err != nil {
				return err
			}
			for _, version := range all {
				out.Versions = append(out.Versions, versionOf(version))
				size += versionBytes(version)
			}
		}
		out.Next = pageToken(p.Offset, len(out.Versions), len(heads))
		return nil
	})
	return out, err
}

// versionTerm returns the condition of t for an attribute of a model version.
func versionTerm(t term) (func(registry.VersionHead) bool, error) {
	switch t.key {
	case "name":
		match, err := t.textMatch()
		return on(func(h registry.VersionHead) string { return h.ModelName }, match), err
	case "run_id":
		match, err := t.textMatch()
		return func(h registry.VersionHead) bool { return h.IterationID != "" && match(compact(h.IterationID)) }, err
	case "source_path":
		match, err := t.textMatch()
		return on(func(h registry.VersionHead) string { return h.Source }, match), err
	case "version_number":
		match, err := t.versionMatch()
		return on(func(h registry.VersionHead) float64 { return float64(h.Version) }, match), err
	}
	return nil, badFilter("filter", "a model version has no attribute %q that can be searched; use name, run_id, source_path and version_number, and tags.", t.key)
}

func versionOrder(orderBy []string) (ordering[registry.VersionHead], error) {
	name := func(h registry.VersionHead) string { return h.ModelName }
	number := func(h registry.VersionHead) int64 { return h.Version }
	updated := func(h registry.VersionHead) scalar.Time { return h.UpdatedDate }
	var order ordering[registry.VersionHead]
	if len(orderBy) == 0 {
		order = append(order, by(updated, true))
	}
	err := eachOrder(orderBy, func(key string, descending bool) error {
		switch key {
		case "name":
			order = append(order, by(name, descending))
		case "version_number":
			order = append(order, by(number, descending))
		case "creation_timestamp":
			order = append(order, by(func(h registry.VersionHead) scalar.Time { return h.CreatedDate }, descending))
		case "last_updated_timestamp":
			order = append(order, by(updated, descending))
		default:
			return badFilter("order_by", "model versions can't be sorted by %q; use name, version_number, creation_timestamp and last_updated_timestamp.", key)
		}
		return nil
	})
	return append(order, by(name, false), by(number, true)), err
}
