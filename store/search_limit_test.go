package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"tracker/store/access"
	"tracker/store/filter"
)

// TestSearchEndsAtItsLimit sets the limit so low that every search passes it.
func TestSearchEndsAtItsLimit(t *testing.T) {
	db, ctx := openForTest(t), context.Background()
	e := newExperiment(t, db)
	runWith(t, db, e, "a", map[string]string{"x": "1"}, map[string][]float64{"loss": {1}})
	db.base.SearchLimit = time.Nanosecond
	tag := "tag"
	for name, c := range map[string]struct {
		field  string
		search func(context.Context) error
	}{
		"filter": {"filter", func(ctx context.Context) error {
			_, err := db.Iterations(ctx, System, e, IterationQuery{Filter: "param.x = 1", Sort: "name"})
			return err
		}},
		"sort": {"sort", func(ctx context.Context) error {
			_, err := db.Iterations(ctx, System, e, IterationQuery{Sort: "name"})
			return err
		}},
		"one group": {"group", func(ctx context.Context) error {
			_, err := db.Iterations(ctx, System, e, IterationQuery{Group: &Grouped{By: tag, Values: []*string{nil}}})
			return err
		}},
		"groups": {"group", func(ctx context.Context) error {
			_, err := db.Groups(ctx, System, e, GroupQuery{By: tag})
			return err
		}},
		"ids": {"filter", func(ctx context.Context) error {
			_, err := db.IterationIDs(ctx, System, e, IterationQuery{Filter: "name = 'a'"})
			return err
		}},
		"walk": {"filter", func(ctx context.Context) error {
			return db.WalkIterations(ctx, System, e, IterationQuery{Filter: "name = 'a'"}, func([]Iteration) error { return nil })
		}},
		"same parameters": {"filter", func(ctx context.Context) error {
			_, err := db.SameParams(ctx, System, e, "name = 'a'", []string{"x"})
			return err
		}},
	} {
		err := access.AsError(c.search(ctx))
		if err == nil || err.Code != CodeInvalidPayload || err.Field != c.field || !strings.Contains(err.Message, "took longer than 1ns and was stopped") {
			t.Errorf("%s: %+v", name, err)
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if err := access.AsError(c.search(gone)); err == nil || err.Code != CodeUnavailable {
			t.Errorf("%s, given up by the caller: %+v", name, err)
		}
	}
	db.base.SearchLimit = access.SearchLimit
	if got := namesOf(t, db, e, IterationQuery{}); got != "a" {
		t.Errorf("the list of all is %q", got)
	}
	for range 2 * db.MaxReaders() { // all connections still serve
		if got := namesOf(t, db, e, IterationQuery{Filter: "param.x = 1"}); got != "a" {
			t.Errorf("the search finds %q", got)
		}
	}
}

// largeValues makes runs whose parameter x is a text of 1 MiB of é.
func largeValues(t *testing.T, runs int) (*DB, string) {
	db := openForTest(t)
	e := newExperiment(t, db)
	for range runs {
		runWith(t, db, e, "a", map[string]string{"x": strings.Repeat("é", MaxText/2)}, nil)
	}
	return db, e
}

// TestSearchIsStopped stops a search while its query runs: it looks 1,600 times
// through 1 MiB.
func TestSearchIsStopped(t *testing.T) {
	db, e := largeValues(t, 8)
	db.base.SearchLimit = 100 * time.Millisecond
	_, err := db.Iterations(context.Background(), System, e,
		IterationQuery{Filter: repeat("param.x contains 'éx'", " or ", filter.MaxComparisons)})
	if refused := access.AsError(err); refused == nil || refused.Code != CodeInvalidPayload || refused.Field != "filter" {
		t.Errorf("%v", err)
	}
}

// TestContainsIsLinear looks for the worst text in the worst values. Trying every
// place would take minutes.
func TestContainsIsLinear(t *testing.T) {
	db, e := largeValues(t, 8)
	db.base.SearchLimit = time.Minute
	for _, c := range []struct{ part, want string }{
		{strings.Repeat("é", filter.MaxContains/2-1) + "x", ""},
		{strings.Repeat("É", filter.MaxContains/2), "a a a a a a a a"},
	} {
		if got := namesOf(t, db, e, IterationQuery{Filter: "param.x contains '" + c.part + "'"}); got != c.want {
			t.Errorf("finds %q", got)
		}
	}
}

// TestSignInDoesNotWaitForSearches holds every connection for reads, as long
// searches do.
func TestSignInDoesNotWaitForSearches(t *testing.T) {
	db, ctx := openForTest(t), context.Background()
	if _, err := db.Seed(ctx, "long enough"); err != nil {
		t.Fatal(err)
	}
	held, release := make(chan struct{}), make(chan struct{})
	results := make(chan error)
	for range db.MaxReaders() {
		go func() {
			results <- db.Read(ctx, func() error {
				held <- struct{}{}
				<-release
				return nil
			})
		}()
		<-held
	}
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := db.Ping(limited); err != nil {
		t.Errorf("ping: %v", err)
	}
	u, err := db.SignIn(limited, DefaultUsername, "long enough")
	if err != nil {
		t.Errorf("sign-in: %v", err)
	}
	if _, err := db.Authenticate(limited, Actor{UserID: u.ID}); err != nil {
		t.Errorf("authentication: %v", err)
	}
	if _, err := db.DefaultUser(limited); err != nil {
		t.Errorf("authentication without sign-in: %v", err)
	}
	close(release)
	for range db.MaxReaders() {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// TestSearchForModelsEndsAtItsLimit compares a text of 1 MiB 60 times for each of the
// models, which would take seconds, and with a pattern of many % minutes.
func TestSearchForModelsEndsAtItsLimit(t *testing.T) {
	db, ctx := openForTest(t), context.Background()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	e := newExperiment(t, db)
	found, err := db.Experiment(ctx, System, e)
	ok(err)
	long := Property{Key: "k", Value: strings.Repeat("é", MaxText/2)}
	for _, name := range []string{"a", "b", "c"} {
		model, err := db.CreateModel(ctx, System, found.ProjectID, NewModel{Name: name})
		ok(err)
		_, err = db.CreateModelVersion(ctx, System, model.ID, NewModelVersion{Source: "s3://b", Properties: []Property{long}})
		ok(err)
		ok(db.SetProperties(ctx, System, ModelProperty, model.ID, []Property{long}))
		_, err = db.CreateLoggedModel(ctx, System, e, NewLoggedModel{Name: name, Properties: []Property{long}})
		ok(err)
	}
	compared := 0
	matches := make([]PropertyMatch, 60)
	for i := range matches {
		matches[i] = PropertyMatch{Key: "k", Match: func(value string) bool {
			compared++
			return filter.Like(value, "%é_x%", true)
		}}
	}
	searches := map[string]func(v *View) error{
		"models": func(v *View) error {
			_, err := v.FindModels(found.ProjectID, matches, func(ModelHead) bool { return true })
			return err
		},
		"versions": func(v *View) error {
			_, err := v.FindVersions(found.ProjectID, nil, matches, func(VersionHead) bool { return true })
			return err
		},
		"logged models": func(v *View) error {
			_, err := v.FindLoggedModels([]string{e}, LoggedModelQuery{Properties: matches, Match: func(LoggedModel) bool { return true }})
			return err
		},
	}
	for name, search := range searches {
		db.base.SearchLimit, compared = 20*time.Millisecond, 0
		refused := access.AsError(db.View(ctx, System, search))
		if refused == nil || refused.Code != CodeInvalidPayload || refused.Field != "filter" || compared == 3*len(matches) {
			t.Errorf("%s: %+v after %d comparisons", name, refused, compared)
		}
		db.base.SearchLimit, compared = time.Hour, 0
		if err := db.View(ctx, System, search); err != nil || compared != 3*len(matches) {
			t.Errorf("%s without a limit: %v after %d comparisons", name, err, compared)
		}
	}
}

// TestPagesOfLargeColumnsEnd reads of large parameters what fits on a page, and ends
// reads that are not searches at the limit of one.
func TestPagesOfLargeColumnsEnd(t *testing.T) {
	db, ctx := openForTest(t), context.Background()
	e, id := newExperiment(t, db), ""
	for range 48 {
		id = runWith(t, db, e, "a", map[string]string{"x": strings.Repeat("x", MaxText), "y": "1"}, nil)
	}
	q := IterationQuery{Page: FirstPage, Columns: "param.x", Cut: true}
	for i := range 3 {
		before := pageReads(t, db)
		if l, err := db.Iterations(ctx, System, e, q); err != nil || l.Limit != 1 || l.Total != 48 {
			t.Fatalf("%d of %d iterations, %v", l.Limit, l.Total, err)
		}
		// The statements are prepared after the first time.
		if n := pageReads(t, db) - before; i > 0 && n > 90 {
			t.Errorf("%d pages are looked at", n)
		}
	}
	db.base.SearchLimit = 0
	for field, read := range map[string]func(v *View) error{
		"offset": func(v *View) error { _, err := db.Parameters(ctx, System, id, FirstPage); return err },
		"id":     func(v *View) error { _, err := v.Summaries([]string{id}); return err },
	} {
		err := db.View(ctx, System, read)
		if refused := AsError(err); refused == nil || refused.Code != CodeInvalidPayload || refused.Field != field || !strings.Contains(refused.Message, "was stopped") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
