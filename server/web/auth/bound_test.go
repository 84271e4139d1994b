package auth

import (
	"strconv"
	"testing"
	"time"
)

func TestThrottleMemoryIsBounded(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	th := newThrottle(func() time.Time { return now }, maxFailures)
	fail := func(name string) time.Duration {
		who := visitorOf(name, "a")
		wait := th.begin(who)
		if wait == 0 {
			th.end(who, wrong)
		}
		return wait
	}
	busy := visitorOf("busy", "a")
	th.begin(busy)
	for i := range 3 * maxTracked {
		fail(strconv.Itoa(i))
		if len(th.of) > maxTracked {
			t.Fatalf("%d are remembered after %d names, want at most %d", len(th.of), i, maxTracked)
		}
	}
	if a := th.of[busy]; a == nil || a.pending != 1 {
		t.Fatal("an attempt under way was forgotten")
	}
	th.end(busy, right)

	// The throttle can drop old names here, so it keeps recent failures.
	now = now.Add(2 * failureWindow)
	for range maxFailures {
		fail("guesser")
	}
	for i := range maxTracked - 1 {
		fail(strconv.Itoa(i))
	}
	if fail("guesser") == 0 {
		t.Error("the guesser was forgotten although there was room")
	}
}

func TestThrottleKeepsNothingOfWhoGotIn(t *testing.T) {
	th := newThrottle(time.Now, maxFailures)
	for i := range 100 {
		who := visitorOf(strconv.Itoa(i), "a")
		for _, o := range []outcome{wrong, undecided, right} {
			if th.begin(who) != 0 {
				t.Fatal("refused")
			}
			th.end(who, o)
		}
	}
	if len(th.of) != 0 {
		t.Errorf("%d are remembered, want none", len(th.of))
	}
}
