package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tracker/store"
)

// counted returns a context whose budget is counted, and fails beyond limit.
func counted(limit int64) (context.Context, *int64) {
	var sum int64
	return store.WithBudget(ctx, func(n int64) error {
		if sum += n; sum > limit {
			return errors.New("the budget is used up")
		}
		return nil
	}), &sum
}

// Answers whose size people choose count what they hold before it is read.
func TestBudgets(t *testing.T) {
	b := newBed(t)
	const texts, size = 20, 100_000
	var columns []string
	for i := range texts {
		key := fmt.Sprint("p", i)
		columns = append(columns, "param."+key)
		must(b.CreateParameter(ctx, store.System, b.iteration, key, store.Text(strings.Repeat("x", size))))(t)
	}
	for range texts {
		must(b.CreateIteration(ctx, store.System, b.experiment, store.NewIteration{Notes: strings.Repeat("n", size)}))(t)
	}
	var all []store.NewMetric
	for step := range 30_000 {
		all = append(all, point("loss", int64(step), 1))
	}
	wantOK(t, b.CreateMetrics(ctx, store.System, b.iteration, all))
	query := store.IterationQuery{Page: store.Page{Limit: store.MaxLimit}, Columns: strings.Join(columns, ",")}
	for name, read := range map[string]func(context.Context) error{
		"records": func(ctx context.Context) error {
			_, err := b.IterationRecords(ctx, store.System, store.RecordQuery{Experiments: []string{b.experiment}, Page: store.Page{Limit: store.MaxRecords}})
			return err
		},
		"record": func(ctx context.Context) error {
			_, err := b.IterationRecord(ctx, store.System, b.iteration)
			return err
		},
		"run of W&B": func(ctx context.Context) error {
			_, err := b.WandbRecordOf(ctx, store.System, b.iteration)
			return err
		},
		"summary": func(ctx context.Context) error {
			_, err := b.Summary(ctx, store.System, b.iteration)
			return err
		},
		"columns and notes": func(ctx context.Context) error {
			_, err := b.Iterations(ctx, store.System, b.experiment, query)
			return err
		},
		"notes that are filtered": func(ctx context.Context) error {
			_, err := b.Iterations(ctx, store.System, b.experiment, store.IterationQuery{Page: query.Page, Filter: "status = 'running'"})
			return err
		},
		"curves": func(ctx context.Context) error {
			_, err := b.Curves(ctx, store.System, []string{b.iteration},
				store.CurveQuery{Points: 30_000, X: store.ByStep, Scale: store.Linear})
			return err
		},
		"paired curves": func(ctx context.Context) error {
			_, err := b.PairedCurves(ctx, store.System, []string{b.iteration}, store.PairQuery{Against: "loss",
				CurveQuery: store.CurveQuery{Keys: []string{"loss"}, Points: 30_000, X: store.ByStep, Scale: store.Linear}})
			return err
		},
	} {
		budget, sum := counted(1 << 40)
		wantOK(t, read(budget))
		if *sum < texts*size/2 {
			t.Errorf("%s: %d bytes are counted", name, *sum)
		}
		budget, _ = counted(texts * size / 4)
		if err := read(budget); err == nil {
			t.Errorf("%s: it is read beyond its budget", name)
		}
	}
}

// A page that may end early has at most MaxPageBytes of text, or one iteration.
func TestIterationsAreCut(t *testing.T) {
	b := newBed(t)
	const size = 900_000
	for range 5 {
		must(b.CreateIteration(ctx, store.System, b.experiment, store.NewIteration{Notes: strings.Repeat("n", size)}))(t)
	}
	must(b.CreateParameter(ctx, store.System, b.iteration, "p", store.Text(strings.Repeat("x", size))))(t)
	query := store.IterationQuery{Page: store.Page{Limit: 4, Offset: 1}, Sort: "created"}
	for _, cut := range []bool{false, true} {
		query.Cut = cut
		l := must(b.Iterations(ctx, store.System, b.experiment, query))(t)
		want := 4
		if cut {
			want = 2
		}
		if len(l.Data) != want || l.Limit != want || l.Total != 6 {
			t.Errorf("cut %t: %d iterations, limit %d, total %d", cut, len(l.Data), l.Limit, l.Total)
		}
	}
}

// An answer beyond what one may hold is refused with a sentence.
func TestAnswersAreBounded(t *testing.T) {
	b := newBed(t)
	var columns []string
	for i := range store.MaxAnswerBytes/store.MaxText + 1 {
		key := fmt.Sprint("p", i)
		columns = append(columns, "param."+key)
		must(b.CreateParameter(ctx, store.System, b.iteration, key, store.Text(strings.Repeat("x", store.MaxText))))(t)
	}
	_, err := b.Summary(ctx, store.System, b.iteration)
	wantCode(t, err, store.CodeInvalidPayload)
	_, err = b.Iterations(ctx, store.System, b.experiment, store.IterationQuery{Page: store.FirstPage, Columns: strings.Join(columns, ","), Cut: true})
	wantCode(t, err, store.CodeInvalidPayload)
}

// A page of records ends before the iteration that goes beyond MaxRecordBytes, which is
// known before any of them is read.
func TestRecordsAreCut(t *testing.T) {
	b := newBed(t)
	for range 3 {
		id := must(b.CreateIteration(ctx, store.System, b.experiment, store.NewIteration{}))(t).ID
		for n := range 12 {
			must(b.CreateParameter(ctx, store.System, id, fmt.Sprint("p", n), store.Text(strings.Repeat("x", store.MaxText))))(t)
		}
	}
	budget, sum := counted(1 << 40)
	l := must(b.IterationRecords(budget, store.System, store.RecordQuery{Experiments: []string{b.experiment}, Page: store.Page{Limit: 100}}))(t)
	if len(l.Data) != 2 || l.Limit != 2 || *sum > store.MaxRecordBytes {
		t.Errorf("%d records, limit %d, %d bytes were counted", len(l.Data), l.Limit, *sum)
	}
}
