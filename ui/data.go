package ui

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/difference"
	"tracker/store/domain"
	"tracker/store/goal"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/search"
	"tracker/ui/chart"
	"tracker/ui/plain"
)

// data returns a handler for requests of the pages' scripts. The handler responds with JSON,
// and with errors in the format of the API. The response counts against the memory limit until
// it is sent.
func (s *site) data(next func(*http.Request, domain.Actor) (any, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		user, err := s.Auth.CookieUser(r)
		if err != nil {
			web.WriteError(w, r, err)
			return nil
		}
		web.InfoOf(r).User = user.Username
		share := s.memory.Share(r.Context())
		defer share.Release()
		var v any
		var body bytes.Buffer // the request body read so far, which is reused if the handler is run again
		rest := io.TeeReader(r.Body, &body)
		err = share.Hold(r.Context(), func(ctx context.Context) (err error) {
			try := r.WithContext(ctx)
			try.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body.Bytes()), rest))
			v, err = next(try, user.Actor())
			return err
		})
		if err != nil {
			web.WriteError(w, r, err)
			return nil
		}
		web.WriteJSON(w, r, http.StatusOK, v)
		return nil
	}
}

// viewed is data for a function that reads the database more than once: all its reads use one
// snapshot.
func (s *site) viewed(next func(*http.Request, *store.View) (any, error)) handler {
	return s.data(func(r *http.Request, actor domain.Actor) (answer any, err error) {
		err = s.DB.View(r.Context(), actor, func(db *store.View) (err error) {
			answer, err = next(r, db)
			return err
		})
		return answer, err
	})
}

// foundAtOnce is the maximum number of records that a search by name returns.
const foundAtOnce = 30

// textsAtOnce is the maximum number of notes, and of tags, that a search returns.
const textsAtOnce = 5

// idOf returns the ID in the request path. It returns "" if the escaping of the path is
// invalid.
func idOf(r *http.Request) string {
	id, err := url.PathUnescape(mux.Vars(r)["id"])
	if err != nil {
		return ""
	}
	return id
}

func (s *site) iterationsData(r *http.Request, db *store.View) (any, error) {
	query := r.URL.Query()
	q, err := searchIn(db, idOf(r), query)
	if err != nil {
		return nil, err
	}
	if by := query.Get("group"); by != "" {
		values, err := readValues(query.Get("values"))
		if err != nil {
			return nil, err
		}
		q.Group = &runs.Grouped{By: by, Values: values}
	}
	list, err := db.Runs.Iterations(idOf(r), q)
	if e := web.AsError(err); e != nil && e.Code == domain.CodeInvalidPayload {
		return mistake{Wrong: e}, nil
	}
	if err != nil {
		return nil, err
	}
	return explained(s, db, idOf(r), q.Filter, s.runs(list))
}

// runs converts a page of runs to the JSON format of the scripts.
func (s *site) runs(list domain.List[runs.Iteration]) domain.List[run] {
	rows := domain.List[run]{Data: []run{}, Total: list.Total, Limit: list.Limit, Offset: list.Offset}
	for _, i := range list.Data {
		rows.Data = append(rows.Data, s.run(i))
	}
	return rows
}

// readValues parses the values that all runs of a group share. The text is a JSON list of strings,
// with null for a missing value.
func readValues(text string) (values []*string, err error) {
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return nil, domain.Invalid("values", "values must be a list of strings.")
	}
	return values, nil
}

func (s *site) groupsData(r *http.Request, db *store.View) (any, error) {
	query := r.URL.Query()
	q := groupsOf(query)
	list, err := db.Runs.Groups(idOf(r), q)
	if e := web.AsError(err); e != nil && e.Code == domain.CodeInvalidPayload {
		return mistake{Wrong: e}, nil
	}
	if err != nil {
		return nil, err
	}
	return explained(s, db, idOf(r), q.Filter, list)
}

// sameData returns the names of the requested parameters that have the same value in all runs
// matching the filter.
func (s *site) sameData(r *http.Request, actor domain.Actor) (any, error) {
	query := r.URL.Query()
	same, err := s.DB.Runs.SameParams(r.Context(), actor, idOf(r), plain.Readable(query.Get("filter")), query["key"])
	if e := web.AsError(err); e != nil && e.Code == domain.CodeInvalidPayload {
		return mistake{Wrong: e}, nil
	}
	return struct {
		Same []string `json:"same"`
	}{same}, err
}

// varyingData returns the parameters that differ among the newest runs of an experiment, the
// most interesting ones first, and which of them only number repetitions of a run. It also returns
// the names of the summary's texts that differ.
func (s *site) varyingData(r *http.Request, db *store.View) (any, error) {
	keys, err := db.Runs.VaryingParams(idOf(r), domain.MaxLimit)
	chart.SortParams(keys)
	if err != nil {
		return nil, err
	}
	texts, err := db.Runs.VaryingTexts(idOf(r), domain.MaxLimit)
	repeats := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !difference.IsRepeat(key) })
	return struct {
		Keys    []string `json:"keys"`
		Repeats []string `json:"repeats"`
		Texts   []string `json:"texts"`
	}{append([]string{}, keys...), append([]string{}, repeats...), append([]string{}, texts...)}, err
}

// tagData adds a tag to runs or removes a tag from runs.
func (s *site) tagData(r *http.Request, actor domain.Actor) (any, error) {
	var b struct {
		Iterations []string `json:"iterations"`
		Value      string   `json:"value"`
		Attach     bool     `json:"attach"`
	}
	if err := readBody(r, &b); err != nil {
		return nil, err
	}
	n, err := s.DB.Runs.TagIterations(r.Context(), actor, b.Iterations, strings.TrimSpace(b.Value), b.Attach)
	return struct {
		Changed int `json:"changed"`
	}{n}, err
}

var errRequest = domain.Errorf(web.CodeMalformedBody, "The request can't be read. Reload the page.")

// readBody reads and decodes the JSON body of a script's request.
func readBody(r *http.Request, into any) error {
	return readLargeBody(r, into, maxForm)
}

// readLargeBody is readBody with another limit in bytes.
func readLargeBody(r *http.Request, into any, limit int64) error {
	body, err := web.ReadBody(nil, r, web.Limits{Size: limit})
	if err != nil {
		return err
	}
	return decode(body, into)
}

func decode(body []byte, into any) error {
	if json.Unmarshal(body, into) != nil {
		return errRequest
	}
	return nil
}

// mistake is the response to an invalid search. Its status is 200, because searches are often
// invalid while the user types.
type mistake struct {
	Wrong *domain.Error `json:"wrong"`
}

// namedKey is a parameter or metric. Goal is "minimize" or "maximize" if the metric's definition or
// name implies which values are better.
type namedKey struct {
	search.Key
	Goal goal.Goal `json:"goal,omitzero"`
}

// namedKeys returns a page of an experiment's parameters and metrics with the goals of the metrics.
func namedKeys(db *store.View, experimentID string, q runs.KeyQuery) (domain.List[namedKey], error) {
	list, err := db.Runs.Keys(experimentID, q)
	named := domain.List[namedKey]{Data: []namedKey{}, Total: list.Total, Limit: list.Limit, Offset: list.Offset}
	if err != nil {
		return named, err
	}
	defined, err := db.Runs.Definitions(experimentID)
	for _, k := range list.Data {
		one := namedKey{Key: k}
		if k.Kind == search.MetricKey {
			one.Goal = cmp.Or(defined.Of(k.Key).Goal, goal.Of(k.Key))
		}
		named.Data = append(named.Data, one)
	}
	return named, err
}

func (s *site) keysData(r *http.Request, actor domain.Actor) (answer any, err error) {
	query := r.URL.Query()
	q := runs.KeyQuery{Page: pageOf(query), Part: query.Get("q")}
	kind := search.KeyKind(query.Get("kind"))
	if kind != "" {
		q.Kind = &kind
	}
	err = s.DB.View(r.Context(), actor, func(db *store.View) (err error) {
		if kind != search.MetricKey {
			answer, err = namedKeys(db, idOf(r), q)
			return err
		}
		e, err := db.Projects.Experiment(idOf(r))
		if err != nil {
			return err
		}
		o, err := db.Projects.Objective(e)
		if err != nil {
			return err
		}
		answer, err = chartKeys(db, e.ID, o, q.Part, query.Has("pattern"), q.Page)
		return err
	})
	return answer, err
}

// valuesData returns the parameter values, the texts of summaries or the tags that the runs of an
// experiment have.
func (s *site) valuesData(r *http.Request, db *store.View) (any, error) {
	query := r.URL.Query()
	var answer struct {
		Values []runs.FoundValue `json:"values"`
	}
	var err error
	switch param, text := query.Get("param"), query.Get("summary"); {
	case param != "":
		answer.Values, err = db.Runs.ParamValues(idOf(r), param, query.Get("q"))
	case text != "":
		answer.Values, err = db.Runs.TextValues(idOf(r), text, query.Get("q"))
	default:
		answer.Values, err = db.Runs.TagValues(idOf(r), query.Get("q"))
	}
	return answer, err
}

func (s *site) findData(r *http.Request, actor domain.Actor) (any, error) {
	q := nameQuery(r.URL.Query())
	found, err := s.DB.Projects.Find(r.Context(), actor, q, foundAtOnce)
	if err != nil {
		return nil, err
	}
	texts, err := s.DB.Projects.FindTexts(r.Context(), actor, q, textsAtOnce)
	return struct {
		Found []projects.Found     `json:"found"`
		Texts []projects.FoundText `json:"texts"`
	}{found, texts}, err
}

// summaryData returns the statistics of a run's metrics. If the request names metrics,
// summaryData returns only the statistics of these metrics.
func (s *site) summaryData(r *http.Request, actor domain.Actor) (any, error) {
	summary, err := s.DB.Runs.Summary(r.Context(), actor, idOf(r))
	if named := r.URL.Query()["key"]; err == nil && named != nil {
		some := map[string]points.Summary{}
		for _, key := range named {
			if m, ok := summary.Metrics[key]; ok {
				some[key] = m
			}
		}
		summary.Metrics = some
	}
	return summary, err
}
