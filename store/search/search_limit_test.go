package search_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/filter"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/storetest"
	"tracker/store/users"
)

// TestSearchEndsAtItsLimit sets a time limit that every search exceeds.
func TestSearchEndsAtItsLimit(t *testing.T) {
	db, ctx := openForTest(t), context.Background()
	e := newExperiment(t, db)
	runWith(t, db, e, "a", map[string]string{"x": "1"}, map[string][]float64{"loss": {1}})
	db.Base().SearchLimit = time.Nanosecond
	tag := "tag"
	for name, c := range map[string]struct {
		field  string
		search func(context.Context) error
	}{
		"filter": {"filter", func(ctx context.Context) error {
			_, err := db.Runs.Iterations(ctx, domain.System, e, runs.IterationQuery{Filter: "param.x = 1", Sort: "name"})
			return err
		}},
		"sort": {"sort", func(ctx context.Context) error {
			_, err := db.Runs.Iterations(ctx, domain.System, e, runs.IterationQuery{Sort: "name"})
			return err
		}},
		"one group": {"group", func(ctx context.Context) error {
			_, err := db.Runs.Iterations(ctx, domain.System, e, runs.IterationQuery{Group: &runs.Grouped{By: tag, Values: []*string{nil}}})
			return err
		}},
		"groups": {"group", func(ctx context.Context) error {
			_, err := storetest.Groups(ctx, db, domain.System, e, runs.GroupQuery{By: tag})
			return err
		}},
		"ids": {"filter", func(ctx context.Context) error {
			_, err := storetest.IterationIDs(ctx, db, domain.System, e, runs.IterationQuery{Filter: "name = 'a'"})
			return err
		}},
		"walk": {"filter", func(ctx context.Context) error {
			return db.Runs.WalkIterations(ctx, domain.System, e, runs.IterationQuery{Filter: "name = 'a'"}, func([]runs.Iteration) error { return nil })
		}},
		"same parameters": {"filter", func(ctx context.Context) error {
			_, err := db.Runs.SameParams(ctx, domain.System, e, "name = 'a'", []string{"x"})
			return err
		}},
	} {
		err := domain.AsError(c.search(ctx))
		if err == nil || err.Code != domain.CodeInvalidPayload || err.Field != c.field || !strings.Contains(err.Message, "took longer than 1ns and was stopped") {
			t.Errorf("%s: %+v", name, err)
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if err := domain.AsError(c.search(gone)); err == nil || err.Code != domain.CodeUnavailable {
			t.Errorf("%s, given up by the caller: %+v", name, err)
		}
	}
	db.Base().SearchLimit = domain.SearchLimit
	if got := namesOf(t, db, e, runs.IterationQuery{}); got != "a" {
		t.Errorf("the list of all is %q", got)
	}
	for range 2 * db.Base().Kernel.MaxReaders() { // all connections are still usable
		if got := namesOf(t, db, e, runs.IterationQuery{Filter: "param.x = 1"}); got != "a" {
			t.Errorf("the search finds %q", got)
		}
	}
}

// largeValues creates runs whose parameter x is 1 MiB of é.
func largeValues(t *testing.T, runs int) (*store.DB, string) {
	db := openForTest(t)
	e := newExperiment(t, db)
	for range runs {
		runWith(t, db, e, "a", map[string]string{"x": strings.Repeat("é", domain.MaxText/2)}, nil)
	}
	return db, e
}

// TestSearchIsStopped cancels a search during its query, which reads 1 MiB 1,600 times.
func TestSearchIsStopped(t *testing.T) {
	db, e := largeValues(t, 8)
	db.Base().SearchLimit = 100 * time.Millisecond
	_, err := db.Runs.Iterations(context.Background(), domain.System, e,
		runs.IterationQuery{Filter: repeat("param.x contains 'éx'", " or ", filter.MaxComparisons)})
	if refused := domain.AsError(err); refused == nil || refused.Code != domain.CodeInvalidPayload || refused.Field != "filter" {
		t.Errorf("%v", err)
	}
}

// TestContainsIsLinear searches for the worst string in the worst values. Comparing at every
// position would take minutes.
func TestContainsIsLinear(t *testing.T) {
	db, e := largeValues(t, 8)
	db.Base().SearchLimit = time.Minute
	for _, c := range []struct{ part, want string }{
		{strings.Repeat("é", filter.MaxContains/2-1) + "x", ""},
		{strings.Repeat("É", filter.MaxContains/2), "a a a a a a a a"},
	} {
		if got := namesOf(t, db, e, runs.IterationQuery{Filter: "param.x contains '" + c.part + "'"}); got != c.want {
			t.Errorf("finds %q", got)
		}
	}
}

// TestSignInDoesNotWaitForSearches occupies every connection for reads, as long searches would.
func TestSignInDoesNotWaitForSearches(t *testing.T) {
	db, ctx := openForTest(t), context.Background()
	if _, err := db.Users.Seed(ctx, "long enough"); err != nil {
		t.Fatal(err)
	}
	held, release := make(chan struct{}), make(chan struct{})
	results := make(chan error)
	for range db.Base().Kernel.MaxReaders() {
		go func() {
			results <- db.Base().Ask(ctx, func(*domain.Tx) error {
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
	u, err := db.Users.SignIn(limited, users.DefaultUsername, "long enough")
	if err != nil {
		t.Errorf("sign-in: %v", err)
	}
	if _, err := db.Users.Authenticate(limited, u.Actor()); err != nil {
		t.Errorf("authentication: %v", err)
	}
	if _, err := db.Users.DefaultUser(limited); err != nil {
		t.Errorf("authentication without sign-in: %v", err)
	}
	close(release)
	for range db.Base().Kernel.MaxReaders() {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// TestSearchForModelsEndsAtItsLimit compares a string of 1 MiB 60 times for each model. This
// would take seconds, or minutes if the pattern has many %.
func TestSearchForModelsEndsAtItsLimit(t *testing.T) {
	db, ctx := openForTest(t), context.Background()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	e := newExperiment(t, db)
	found, err := db.Projects.Experiment(ctx, domain.System, e)
	ok(err)
	long := domain.Property{Key: "k", Value: strings.Repeat("é", domain.MaxText/2)}
	for _, name := range []string{"a", "b", "c"} {
		model, err := db.Models.CreateModel(ctx, domain.System, found.ProjectID, registry.NewModel{Name: name})
		ok(err)
		_, err = db.Models.CreateModelVersion(ctx, domain.System, model.ID, registry.NewModelVersion{Source: "s3://b", Properties: []domain.Property{long}})
		ok(err)
		ok(db.Runs.SetProperties(ctx, domain.System, runs.ModelProperty, model.ID, []domain.Property{long}))
		_, err = db.Models.CreateLoggedModel(ctx, domain.System, e, registry.NewLoggedModel{Name: name, Properties: []domain.Property{long}})
		ok(err)
	}
	compared := 0
	matches := make([]registry.PropertyMatch, 60)
	for i := range matches {
		matches[i] = registry.PropertyMatch{Key: "k", Match: func(value string) bool {
			compared++
			return filter.Like(value, "%é_x%", true)
		}}
	}
	searches := map[string]func(v *store.View) error{
		"models": func(v *store.View) error {
			_, err := v.Models.FindModels(found.ProjectID, matches, func(registry.ModelHead) bool { return true })
			return err
		},
		"versions": func(v *store.View) error {
			_, err := v.Models.FindVersions(found.ProjectID, nil, matches, func(registry.VersionHead) bool { return true })
			return err
		},
		"logged models": func(v *store.View) error {
			_, err := v.Models.FindLoggedModels([]string{e}, registry.LoggedModelQuery{Properties: matches, Match: func(registry.LoggedModel) bool { return true }})
			return err
		},
	}
	for name, search := range searches {
		db.Base().SearchLimit, compared = 20*time.Millisecond, 0
		refused := domain.AsError(db.View(ctx, domain.System, search))
		if refused == nil || refused.Code != domain.CodeInvalidPayload || refused.Field != "filter" || compared == 3*len(matches) {
			t.Errorf("%s: %+v after %d comparisons", name, refused, compared)
		}
		db.Base().SearchLimit, compared = time.Hour, 0
		if err := db.View(ctx, domain.System, search); err != nil || compared != 3*len(matches) {
			t.Errorf("%s without a limit: %v after %d comparisons", name, err, compared)
		}
	}
}

// TestPagesOfLargeColumnsEnd reads pages of large parameters. A page ends at its size limit, and
// reads other than searches end at the time limit of a search.
func TestPagesOfLargeColumnsEnd(t *testing.T) {
	db, ctx := openForTest(t), context.Background()
	e, id := newExperiment(t, db), ""
	for range 48 {
		id = runWith(t, db, e, "a", map[string]string{"x": strings.Repeat("x", domain.MaxText), "y": "1"}, nil)
	}
	q := runs.IterationQuery{Page: domain.FirstPage, Columns: "param.x", Cut: true}
	for i := range 3 {
		before := pageReads(t, db)
		if l, err := db.Runs.Iterations(ctx, domain.System, e, q); err != nil || l.Limit != 1 || l.Total != 48 {
			t.Fatalf("%d of %d iterations, %v", l.Limit, l.Total, err)
		}
		// The statements are prepared in the first round.
		if n := pageReads(t, db) - before; i > 0 && n > 90 {
			t.Errorf("%d pages are looked at", n)
		}
	}
	db.Base().SearchLimit = 0
	for field, read := range map[string]func(v *store.View) error{
		"offset": func(v *store.View) error {
			_, err := db.Runs.Parameters(ctx, domain.System, id, domain.FirstPage)
			return err
		},
		"id": func(v *store.View) error { _, err := v.Runs.Summaries([]string{id}); return err },
	} {
		err := db.View(ctx, domain.System, read)
		if refused := domain.AsError(err); refused == nil || refused.Code != domain.CodeInvalidPayload || refused.Field != field || !strings.Contains(refused.Message, "was stopped") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
