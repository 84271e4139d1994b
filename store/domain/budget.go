package domain

import "context"

// MaxAnswerBytes is the maximum size in memory of a summary, or of all iterations in one
// response.
const MaxAnswerBytes = 64 << 20

type budgetKey struct{}

// WithBudget returns a context that limits the memory of large reads. The reads call take with
// the number of bytes that they allocate, and return the error of take. Several goroutines can
// call take at once.
func WithBudget(ctx context.Context, take func(bytes int64) error) context.Context {
	return context.WithValue(ctx, budgetKey{}, take)
}

// Take counts bytes against the budget of ctx. It calls the function passed to WithBudget and
// returns that function's error. Without a budget, Take returns nil.
func Take(ctx context.Context, bytes int64) error {
	if f, ok := ctx.Value(budgetKey{}).(func(int64) error); ok {
		return f(bytes)
	}
	return nil
}
