package cmd

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// duration is the value of a setting such as 12h or 7d. 0 means never.
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	var s span
	if err := s.Set(string(text)); err != nil && string(text) != "0" || s < 0 {
		return errors.New("must be a time like 90m, 12h or 7d, or 0 for never")
	}
	*d = duration(s)
	return nil
}

// activity records when the service was last used. A running run counts as use, because its
// client sends a request at least every 30 seconds.
type activity struct {
	mu   sync.Mutex
	open int       // number of requests in progress, including event streams
	last time.Time // time at which the last request ended
}

// watch returns a handler that calls h and records the requests.
func (a *activity) watch(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.add(1)
		defer a.add(-1)
		h.ServeHTTP(w, r)
	})
}

func (a *activity) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open += n
	a.last = time.Now()
}

// rest returns the time until the service will have been idle for limit. While the service
// handles a request, rest returns limit.
func (a *activity) rest(limit time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open > 0 {
		return limit
	}
	return limit - time.Since(a.last)
}

// untilIdle returns a copy of ctx that ends when the service has been idle for limit.
func (a *activity) untilIdle(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	a.add(0)
	go func() {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			rest := a.rest(limit)
			if rest <= 0 {
				cancel()
				return
			}
			timer.Reset(rest)
		}
	}()
	return ctx, cancel
}
