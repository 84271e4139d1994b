package ui

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gorilla/mux"

	"tracker/server/middleware"
	"tracker/store"
)

// data is a handler for the scripts of the pages: it answers with JSON, and
// with the error as the API writes it.
func (s *site) data(next func(*http.Request, store.Actor) (any, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		user, err := s.Auth.CookieUser(r)
		if err != nil {
			writeError(w, r, err)
			return nil
		}
		middleware.InfoOf(r).User = user.Username
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		v, err := next(r, store.Actor{UserID: user.ID})
		if err != nil {
			writeError(w, r, err)
			return nil
		}
		writeJSON(w, r, http.StatusOK, v)
		return nil
	}
}

func writeError(w http.ResponseWriter, r *http.Request, err error) {
	e := store.AsError(err)
	status := middleware.StatusOf(e.Code)
	if status >= http.StatusInternalServerError {
		middleware.InfoOf(r).Err = err
	}
	middleware.RetryAfter(w, e)
	writeJSON(w, r, status, e)
}

func writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	body, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		middleware.InfoOf(r).Err = err
		status, body = http.StatusInternalServerError, []byte(`{"code":"SERVER_ERROR"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body) // fails when the reader has gone
}

// foundAtOnce is how many records a search by name answers.
const foundAtOnce = 30

// idOf is the id in the path. One that can't be read is nobody's.
func idOf(r *http.Request) string {
	id, err := url.PathUnescape(mux.Vars(r)["id"])
	if err != nil {
		return ""
	}
	return id
}

func (s *site) iterationsData(r *http.Request, actor store.Actor) (any, error) {
	query := r.URL.Query()
	q := searchOf(query)
	if by := query.Get("group"); by != "" {
		values, err := readValues(query.Get("values"))
		if err != nil {
			return nil, err
		}
		q.Group = &store.Grouped{By: by, Values: values}
	}
	list, err := s.DB.Iterations(r.Context(), actor, idOf(r), q)
	if e := store.AsError(err); e != nil && e.Code == store.CodeInvalidPayload {
		return mistake{Wrong: e}, nil
	}
	if err != nil {
		return nil, err
	}
	return explained(r.Context(), s, actor, idOf(r), q.Filter, s.runs(list))
}

// runs is a page of runs as the scripts take it.
func (s *site) runs(list store.List[store.Iteration]) store.List[run] {
	rows := store.List[run]{Data: []run{}, Total: list.Total, Limit: list.Limit, Offset: list.Offset}
	for _, i := range list.Data {
		rows.Data = append(rows.Data, s.run(i))
	}
	return rows
}

// readValues reads what a group has in common: a list of texts, null for what
// is not there.
func readValues(text string) (values []*string, err error) {
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return nil, store.Invalid("values", "The values of a group are a list of texts.")
	}
	return values, nil
}

func (s *site) groupsData(r *http.Request, actor store.Actor) (any, error) {
	query := r.URL.Query()
	q := groupsOf(query)
	list, err := s.DB.Groups(r.Context(), actor, idOf(r), q)
	if e := store.AsError(err); e != nil && e.Code == store.CodeInvalidPayload {
		return mistake{Wrong: e}, nil
	}
	if err != nil {
		return nil, err
	}
	return explained(r.Context(), s, actor, idOf(r), q.Filter, list)
}

// sameData answers which parameters are the same in all runs.
func (s *site) sameData(r *http.Request, actor store.Actor) (any, error) {
	query := r.URL.Query()
	same, err := s.DB.SameParams(r.Context(), actor, idOf(r), readable(query.Get("filter")), query["key"])
	if e := store.AsError(err); e != nil && e.Code == store.CodeInvalidPayload {
		return mistake{Wrong: e}, nil
	}
	return struct {
		Same []string `json:"same"`
	}{same}, err
}

// tagData puts a tag on runs, or takes it off.
func (s *site) tagData(r *http.Request, actor store.Actor) (any, error) {
	var b struct {
		Iterations []string `json:"iterations"`
		Value      string   `json:"value"`
		Attach     bool     `json:"attach"`
	}
	if err := readBody(r, &b); err != nil {
		return nil, err
	}
	n, err := s.DB.TagIterations(r.Context(), actor, b.Iterations, strings.TrimSpace(b.Value), b.Attach)
	return struct {
		Changed int `json:"changed"`
	}{n}, tagError(err)
}

// readBody reads what a script has sent.
func readBody(r *http.Request, into any) error {
	if err := json.UnmarshalRead(r.Body, into); err != nil {
		return store.Errorf(store.CodeMalformedBody, "The request can't be read; load the page again.")
	}
	return nil
}

// mistake is the answer to a search that can't be read. Somebody who types
// makes one with every other letter, so it is no failure of the request.
type mistake struct {
	Wrong *store.Error `json:"wrong"`
}

func (s *site) keysData(r *http.Request, actor store.Actor) (any, error) {
	query := r.URL.Query()
	q := store.KeyQuery{Page: pageOf(query), Part: query.Get("q")}
	if kind := store.KeyKind(query.Get("kind")); kind != "" {
		q.Kind = &kind
	}
	return s.DB.Keys(r.Context(), actor, idOf(r), q)
}

func (s *site) findData(r *http.Request, actor store.Actor) (any, error) {
	found, err := s.DB.Find(r.Context(), actor, search(r.URL.Query()), foundAtOnce)
	return struct {
		Found []store.Found `json:"found"`
	}{found}, err
}

func (s *site) summaryData(r *http.Request, actor store.Actor) (any, error) {
	return s.DB.Summary(r.Context(), actor, idOf(r))
}
