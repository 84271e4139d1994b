package store_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"tracker/store/domain"
)

// TestReadsThatAreBrokenOff cancels many reads at random moments, as browsers do when users leave
// a page. Other reads must not be affected.
func TestReadsThatAreBrokenOff(t *testing.T) {
	b := newBed(t)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 3000 {
				c, cancel := context.WithCancel(ctx)
				timer := time.AfterFunc(time.Duration(rand.IntN(100_000)), cancel)
				_, _ = b.Runs.Iteration(c, domain.System, b.iteration) // it may have been canceled
				timer.Stop()
				cancel()
				if _, err := b.Runs.Iteration(ctx, domain.System, b.iteration); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
}
