package audit

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"tracker/store/domain"
	"tracker/store/scalar"
)

// The limits of the entries that visitors can cause. An event that equals an earlier one of the last
// repeatTime is counted, and the count is stored as one entry. Of the failed sign-ins of an hour, the
// first maxFailures different ones are stored with their addresses, and the others only as a number. So
// a year of attacks adds at most 1.4 million entries, or about 150 MB.
const (
	repeatTime  = time.Minute
	maxFailures = 100
	maxRepeats  = 10_000 // maximum number of events that are compared with later ones
)

// repeat identifies equal events.
type repeat struct {
	actor   domain.Actor
	network string
	event   domain.Event
}

// repeated counts the events that equal an earlier one.
type repeated struct {
	since   time.Time // time of the first event
	address string
	count   int // number of later events that have no entry yet
}

// repeats holds the events of the last minute.
type repeats struct {
	mu       sync.Mutex
	of       map[repeat]*repeated
	hour     time.Time // hour that failures counts
	failures int       // number of entries about failed sign-ins in this hour
	others   int       // number of failed sign-ins that have no entry yet
}

// stores reports whether an event gets an entry of its own now.
func (r *repeats) stores(now time.Time, key repeat, address string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.of[key]; found != nil && (now.Sub(found.since) < repeatTime || found.count > 0) {
		found.count++
		return false
	}
	if key.event.Action == domain.ActionSignInFailed {
		if hour := now.Truncate(time.Hour); !hour.Equal(r.hour) {
			r.hour, r.failures = hour, 0
		}
		if r.failures >= maxFailures {
			r.others++
			return false
		}
		r.failures++
	}
	if len(r.of) < maxRepeats {
		r.of[key] = &repeated{since: now, address: address}
	}
	return true
}

// counted is an event with the address and the actor of its entry.
type counted struct {
	domain.Event
	actor   domain.Actor
	address string
}

// take returns the counts that are due, and forgets the events of more than a minute ago.
func (r *repeats) take(now time.Time) (all []counted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, found := range r.of {
		if now.Sub(found.since) < repeatTime {
			continue
		}
		if found.count > 0 {
			e := key.event
			e.Count = found.count
			all = append(all, counted{e, key.actor, found.address})
		}
		delete(r.of, key)
	}
	if r.others > 0 {
		e := domain.Event{Action: domain.ActionSignInFailed, Kind: domain.AuditUser, Detail: "other addresses and names", Count: r.others}
		all, r.others = append(all, counted{Event: e}), 0
	}
	return all
}

// Note records an event that has no transaction of its own, such as a sign-in or an export. Equal
// events within a minute become one entry with a count, which is stored within two minutes. An error is
// logged and does not stop the caller.
func (db *DB) Note(ctx context.Context, actor domain.Actor, e domain.Event) {
	address := domain.AddressFrom(ctx)
	if !db.repeats.stores(db.base.Now(), repeat{actor, Network(address), e}, address) {
		return
	}
	db.store(context.WithoutCancel(ctx), counted{e, actor, address})
}

func (db *DB) store(ctx context.Context, c counted) {
	err := domain.Change(domain.WithAddress(ctx, c.address), db.base, c.actor, func(tx *domain.Tx) error { return tx.Audit(c.Event) })
	if err != nil {
		db.base.Log.Warn("could not write the audit trail", "action", string(c.Action), "error", err)
	}
}

// SignedIn records a sign-in.
func (db *DB) SignedIn(ctx context.Context, u domain.User) {
	db.Note(ctx, u.Actor(), domain.Event{Action: domain.ActionSignIn, Kind: domain.AuditUser, ID: u.ID, Name: u.Username})
}

// SignedOut records the end of a session.
func (db *DB) SignedOut(ctx context.Context, u domain.User) {
	db.Note(ctx, u.Actor(), domain.Event{Action: domain.ActionSignOut, Kind: domain.AuditUser, ID: u.ID, Name: u.Username})
}

// SignInFailed records a failed sign-in. The entry names the account only if it exists, because people
// enter passwords into the wrong field.
func (db *DB) SignInFailed(ctx context.Context, username string) {
	e := domain.Event{Action: domain.ActionSignInFailed, Kind: domain.AuditUser}
	u, err := domain.ReadShort(ctx, db.base, func(tx *domain.Tx) (u domain.User, err error) {
		err = tx.Get(&u, `SELECT `+domain.UserColumns+` FROM user WHERE username = ?`, username)
		return u, err
	})
	if err == nil {
		e.ID, e.Name = u.ID, u.Username
	} else {
		e.Detail = "unknown user name"
	}
	db.Note(ctx, domain.Actor{}, e)
}

// Flush stores the counts of repeated events that are due.
func (db *DB) Flush(ctx context.Context) {
	for _, c := range db.repeats.take(db.base.Now()) {
		db.store(ctx, c)
	}
}

// expirePause is the time between two deletions of old entries.
const expirePause = time.Hour

// expiredAtOnce is the maximum number of entries that one transaction deletes.
const expiredAtOnce = 5000

// Expire deletes the entries that are older than Age and the entry that records this. It keeps entries
// forever if Age is 0.
func (db *DB) Expire(ctx context.Context) error {
	age := db.Age()
	if age <= 0 {
		return nil
	}
	for more := true; more; {
		err := domain.Remove(ctx, db.base, domain.System, func(tx *domain.Tx) error {
			before := tx.Now - scalar.Time(age.Milliseconds())
			var due int
			err := tx.Row(`SELECT count(*) FROM (SELECT 1 FROM audit WHERE at < ? LIMIT ?)`, before, expiredAtOnce).Scan(&due)
			if more = due == expiredAtOnce; err != nil || due == 0 {
				return err
			}
			// The new entry comes first, because the trigger compares the deleted ones with the newest.
			err = tx.Audit(domain.Event{Action: domain.ActionExpire, Kind: domain.AuditTrail, Name: "entries before " + before.String(), Count: due})
			if err == nil {
				_, err = tx.Exec(`DELETE FROM audit WHERE num IN (SELECT num FROM audit WHERE at < ? ORDER BY at LIMIT ?)`, before, expiredAtOnce)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Maintain stores due counts every minute and deletes old entries every hour. It returns when the
// database closes.
func (db *DB) Maintain(ctx context.Context) {
	var expired time.Time
	db.base.Repeat(ctx, repeatTime, "could not delete old entries of the audit trail; will try again", func() error {
		db.Flush(ctx)
		if time.Since(expired) < expirePause {
			return nil
		}
		expired = time.Now()
		return db.Expire(ctx)
	})
}

// Network returns the part of an IP address that identifies a client. For IPv6 this is the /64 network,
// because one client can have a whole /64 network.
func Network(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil || addr.Unmap().Is4() {
		return address
	}
	prefix, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return prefix.String()
}
