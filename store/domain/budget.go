package domain

import "context"

// MaxAnswerBytes bounds the memory of a summary, or of the iterations of one answer.
const MaxAnswerBytes = 64 << 20

type budgetKey struct{}

// WithBudget returns a context for reads whose answers may be large. They call
// take with the bytes that they are about to hold or have just read, from several
// goroutines at once, and end with its error.
func WithBudget(ctx context.Context, take func(bytes int64) error) context.Context {
	return context.WithValue(ctx, budgetKey{}, take)
}

// Take counts bytes that an answer holds.
func Take(ctx context.Context, bytes int64) error {
	if f, ok := ctx.Value(budgetKey{}).(func(int64) error); ok {
		return f(bytes)
	}
	return nil
}
