package runs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/runs"
	"tracker/store/scalar"
)

// counted returns a context with a memory budget of limit bytes. It also returns a pointer to
// the number of reserved bytes.
func counted(limit int64) (context.Context, *int64) {
	var sum int64
	return domain.WithBudget(ctx, func(n int64) error {
		if sum += n; sum > limit {
			return errors.New("the budget is used up")
		}
		return nil
	}), &sum
}

// If the size of a response depends on the request, its bytes are reserved before the data is
// read.
func TestBudgets(t *testing.T) {
	b := newBed(t)
	const texts, size = 20, 100_000
	var columns []string
	for i := range texts {
		key := fmt.Sprint("p", i)
		columns = append(columns, "param."+key)
		must(b.Runs.CreateParameter(ctx, domain.System, b.Iteration, key, scalar.Text(strings.Repeat("x", size))))(t)
	}
	for range texts {
		must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{Notes: strings.Repeat("n", size)}))(t)
	}
	var all []points.Sample
	for step := range 30_000 {
		all = append(all, point("loss", int64(step), 1))
	}
	wantOK(t, b.Runs.CreateMetrics(ctx, domain.System, b.Iteration, all))
	query := runs.IterationQuery{Page: domain.Page{Limit: domain.MaxLimit}, Columns: strings.Join(columns, ",")}
	for name, read := range map[string]func(context.Context) error{
		"records": func(ctx context.Context) error {
			_, err := b.Runs.IterationRecords(ctx, domain.System, runs.RecordQuery{Experiments: []string{b.Experiment}, Page: domain.Page{Limit: runs.MaxRecords}})
			return err
		},
		"record": func(ctx context.Context) error {
			_, err := b.Runs.IterationRecord(ctx, domain.System, b.Iteration)
			return err
		},
		"run of W&B": func(ctx context.Context) error {
			_, err := b.Wandb.RecordOf(ctx, domain.System, b.Iteration)
			return err
		},
		"summary": func(ctx context.Context) error {
			_, err := b.Runs.Summary(ctx, domain.System, b.Iteration)
			return err
		},
		"columns and notes": func(ctx context.Context) error {
			_, err := b.Runs.Iterations(ctx, domain.System, b.Experiment, query)
			return err
		},
		"notes that are filtered": func(ctx context.Context) error {
			_, err := b.Runs.Iterations(ctx, domain.System, b.Experiment, runs.IterationQuery{Page: query.Page, Filter: "status = 'running'"})
			return err
		},
		"curves": func(ctx context.Context) error {
			_, err := b.Runs.Curves(ctx, domain.System, []string{b.Iteration},
				points.CurveQuery{Points: 30_000, X: points.ByStep, Scale: points.Linear})
			return err
		},
		"paired curves": func(ctx context.Context) error {
			_, err := b.Runs.PairedCurves(ctx, domain.System, []string{b.Iteration}, points.PairQuery{Against: "loss",
				CurveQuery: points.CurveQuery{Keys: []string{"loss"}, Points: 30_000, X: points.ByStep, Scale: points.Linear}})
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

// A page of iterations ends after MaxPageBytes of text. It contains at least one iteration.
func TestIterationsAreCut(t *testing.T) {
	b := newBed(t)
	const size = 900_000
	for range 5 {
		must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{Notes: strings.Repeat("n", size)}))(t)
	}
	must(b.Runs.CreateParameter(ctx, domain.System, b.Iteration, "p", scalar.Text(strings.Repeat("x", size))))(t)
	query := runs.IterationQuery{Page: domain.Page{Limit: 4, Offset: 1}, Sort: "created"}
	for _, cut := range []bool{false, true} {
		query.Cut = cut
		l := must(b.Runs.Iterations(ctx, domain.System, b.Experiment, query))(t)
		want := 4
		if cut {
			want = 2
		}
		if len(l.Data) != want || l.Limit != want || l.Total != 6 {
			t.Errorf("cut %t: %d iterations, limit %d, total %d", cut, len(l.Data), l.Limit, l.Total)
		}
	}
}

// A response that exceeds its size limit is rejected with a message.
func TestAnswersAreBounded(t *testing.T) {
	b := newBed(t)
	var columns []string
	for i := range domain.MaxAnswerBytes/domain.MaxText + 1 {
		key := fmt.Sprint("p", i)
		columns = append(columns, "param."+key)
		must(b.Runs.CreateParameter(ctx, domain.System, b.Iteration, key, scalar.Text(strings.Repeat("x", domain.MaxText))))(t)
	}
	_, err := b.Runs.Summary(ctx, domain.System, b.Iteration)
	wantCode(t, err, domain.CodeInvalidPayload)
	_, err = b.Runs.Iterations(ctx, domain.System, b.Experiment, runs.IterationQuery{Page: domain.FirstPage, Columns: strings.Join(columns, ","), Cut: true})
	wantCode(t, err, domain.CodeInvalidPayload)
}

// A page of records ends before the iteration that exceeds MaxRecordBytes. The size of a record
// is known before the record is read.
func TestRecordsAreCut(t *testing.T) {
	b := newBed(t)
	for range 3 {
		id := must(b.Runs.CreateIteration(ctx, domain.System, b.Experiment, runs.NewIteration{}))(t).ID
		for n := range 12 {
			must(b.Runs.CreateParameter(ctx, domain.System, id, fmt.Sprint("p", n), scalar.Text(strings.Repeat("x", domain.MaxText))))(t)
		}
	}
	budget, sum := counted(1 << 40)
	l := must(b.Runs.IterationRecords(budget, domain.System, runs.RecordQuery{Experiments: []string{b.Experiment}, Page: domain.Page{Limit: 100}}))(t)
	if len(l.Data) != 2 || l.Limit != 2 || *sum > runs.MaxRecordBytes {
		t.Errorf("%d records, limit %d, %d bytes were counted", len(l.Data), l.Limit, *sum)
	}
}
