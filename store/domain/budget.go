package domain

import "context"

// MaxAnswerBytes is the maximum memory in bytes of a summary, or of the iterations of one
// answer.
const MaxAnswerBytes = 64 << 20

type budgetKey struct{}

// WithBudget returns a context for reads whose answers may be large. The reads call take
// with the number of bytes that they are about to allocate or have just read, and return
// its error. They may call it from several goroutines at once.
func WithBudget(ctx context.Context, take func(bytes int64) error) context.Context {
	return context.WithValue(ctx, budgetKey{}, take)
}

// Take counts bytes of an answer. It returns the error of the function given to WithBudget.
func Take(ctx context.Context, bytes int64) error {
	if f, ok := ctx.Value(budgetKey{}).(func(int64) error); ok {
		return f(bytes)
	}
	return nil
}
