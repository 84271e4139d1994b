package auth_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/users"
)

const limited = web.CodeRateLimited

// try signs in with a wrong password and checks the code of the error.
func (f fixture) try(t *testing.T, username, address string, code domain.Code) {
	t.Helper()
	_, err := f.SignIn(t.Context(), username, "wrong", address)
	wantCode(t, err, code)
}

// wait returns the waiting time that the error of a rejected sign-in gives.
func (f fixture) wait(t *testing.T, username, address string) time.Duration {
	t.Helper()
	_, err := f.SignIn(t.Context(), username, password, address)
	wantCode(t, err, limited)
	return web.AsError(err).RetryAfter
}

func TestTenFailuresInAMinuteAreTheLimit(t *testing.T) {
	f := newFixture(t, true)
	wrong := domain.CodeInvalidCredentials
	for _, name := range []string{"ada", "nobody"} {
		for range 10 {
			f.try(t, name, "192.0.2.1", wrong)
		}
		f.try(t, name, "192.0.2.1", limited)
		if got := f.wait(t, name, "192.0.2.1"); got != time.Minute {
			t.Errorf("%s is told to wait %v, want a minute", name, got)
		}
	}
	// Now even the correct password is rejected. Other names and other addresses are not affected.
	if _, err := f.SignIn(t.Context(), "ada", password, "192.0.2.2"); err != nil {
		t.Errorf("from another address: %v", err)
	}
	if _, err := f.SignIn(t.Context(), users.DefaultUsername, password, "192.0.2.1"); err != nil {
		t.Errorf("with another name: %v", err)
	}
	f.try(t, "ada ", "192.0.2.1", wrong)
	f.try(t, "Ada", "192.0.2.1", wrong)
	f.wait(t, "ada", "192.0.2.1")
}

func TestFailureWindowSlides(t *testing.T) {
	f := newFixture(t, true)
	for range 10 { // at 0, 5, … 45 seconds
		f.try(t, "ada", "a", domain.CodeInvalidCredentials)
		f.clock.advance(5 * time.Second)
	}
	if got := f.wait(t, "ada", "a"); got != 10*time.Second {
		t.Errorf("told to wait %v, want 10s", got)
	}
	f.clock.advance(9 * time.Second)
	if got := f.wait(t, "ada", "a"); got != time.Second {
		t.Errorf("told to wait %v, want 1s: refused attempts must not count", got)
	}
	f.clock.advance(time.Second) // the first failure is a minute old
	f.try(t, "ada", "a", domain.CodeInvalidCredentials)
	if got := f.wait(t, "ada", "a"); got != 5*time.Second {
		t.Errorf("told to wait %v, want 5s", got)
	}
	f.clock.advance(time.Minute)
	for range 10 {
		f.try(t, "ada", "a", domain.CodeInvalidCredentials)
	}
	f.try(t, "ada", "a", limited)
}

func TestSuccessForgivesFailures(t *testing.T) {
	f := newFixture(t, true)
	for range 3 {
		for range 9 {
			f.try(t, "ada", "a", domain.CodeInvalidCredentials)
		}
		if _, err := f.SignIn(t.Context(), "ada", password, "a"); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		if _, err := f.SignIn(t.Context(), "ada", password, "a"); err != nil {
			t.Fatalf("a right password counts against the limit: %v", err)
		}
	}
}

func TestGivenUpSignInForgivesNothing(t *testing.T) {
	f := newFixture(t, true)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	giveUp := func() {
		t.Helper()
		_, err := f.SignIn(gone, "ada", "wrong", "a")
		wantCode(t, err, domain.CodeUnavailable)
	}
	for range 20 {
		giveUp() // an aborted attempt does not count
	}
	for range 9 {
		f.try(t, "ada", "a", domain.CodeInvalidCredentials)
	}
	for range 20 {
		giveUp() // nor does it reset the failures
	}
	f.try(t, "ada", "a", domain.CodeInvalidCredentials)
	f.try(t, "ada", "a", limited)
}

func TestManyWrongAttemptsAtOnceGetTenTries(t *testing.T) {
	f := newFixture(t, true)
	codes := f.atOnce(t, 50, "wrong")
	if codes[domain.CodeInvalidCredentials] != 10 || codes[limited] != 40 || len(codes) != 2 {
		t.Errorf("got %v, want 10 tries and 40 refusals", codes)
	}
}

func TestManyRightAttemptsAtOnceAllGetIn(t *testing.T) {
	f := newFixture(t, true)
	if codes := f.atOnce(t, 50, password); codes[""] != 50 {
		t.Errorf("got %v, want 50 sign-ins", codes)
	}
}

// atOnce signs ada in n times concurrently, and counts the results by code.
func (f fixture) atOnce(t *testing.T, n int, password string) map[domain.Code]int {
	var mu sync.Mutex
	codes := map[domain.Code]int{}
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range n {
		wg.Go(func() {
			<-start
			_, err := f.SignIn(t.Context(), "ada", password, "a")
			mu.Lock()
			defer mu.Unlock()
			if e := web.AsError(err); e != nil {
				codes[e.Code]++
			} else {
				codes[""]++
			}
		})
	}
	close(start)
	wg.Wait()
	return codes
}

func TestVeryLongNamesAreThrottledToo(t *testing.T) {
	f := newFixture(t, true)
	long := strings.Repeat("n", 1<<20)
	for range 10 {
		f.try(t, long, "a", domain.CodeInvalidCredentials)
	}
	f.try(t, long, "a", limited)
	f.try(t, fmt.Sprint(long, "n"), "a", domain.CodeInvalidCredentials)
}

// The number of names tried from one address is limited. Other addresses are not affected.
func TestSprayOfNamesIsLimited(t *testing.T) {
	f := newFixture(t, true)
	for i := range 60 {
		f.try(t, fmt.Sprint("name ", i%30), "192.0.2.1", domain.CodeInvalidCredentials)
		if i%5 == 0 { // signing in to another account resets nothing
			if _, err := f.SignIn(t.Context(), users.DefaultUsername, password, "192.0.2.1"); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.try(t, "one more", "192.0.2.1", limited)
	if got := f.wait(t, users.DefaultUsername, "192.0.2.1"); got != time.Minute {
		t.Errorf("told to wait %v, want a minute", got)
	}
	if _, err := f.SignIn(t.Context(), "ada", password, "192.0.2.2"); err != nil {
		t.Errorf("from another address: %v", err)
	}
	f.clock.advance(time.Minute)
	f.try(t, "one more", "192.0.2.1", domain.CodeInvalidCredentials)
}

// The correct password is accepted while another address is guessing it.
func TestGuessingElsewhereLocksNobodyOut(t *testing.T) {
	f := newFixture(t, true)
	for i := range 200 {
		f.try(t, "ada", fmt.Sprint("192.0.2.", i), domain.CodeInvalidCredentials)
	}
	if _, err := f.SignIn(t.Context(), "ada", password, "198.51.100.1"); err != nil {
		t.Error(err)
	}
}

// A client can have a whole /64 network of IPv6 addresses.
func TestNetworkOfIPv6IsOneAddress(t *testing.T) {
	f := newFixture(t, true)
	for i := range 10 {
		f.try(t, "ada", fmt.Sprintf("2001:db8::%x", i+1), domain.CodeInvalidCredentials)
	}
	f.try(t, "ada", "2001:db8::ffff", limited)
	f.try(t, "ada", "2001:db8:0:1::1", domain.CodeInvalidCredentials)
	f.try(t, "ada", "::ffff:192.0.2.1", domain.CodeInvalidCredentials)
}
