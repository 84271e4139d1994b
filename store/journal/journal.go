// Package journal records the last change of each iteration, series and console in memory.
// Event streams read the changes after their cursor.
//
// A Journal is a participant in each commit. It adds a change after the transaction is on disk,
// and drops the change if the transaction is rolled back. A Journal holds at most maxChanges
// changes.
//
// A Journal rejects a cursor if it has dropped changes after the cursor. It also rejects a cursor
// from before a restart, and a cursor from before another process wrote to the file. After a
// rejection, the reader starts with a new cursor.
package journal

import (
	"container/list"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"

	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// maxChanges is the maximum number of changes in the journal. A change takes about 350 bytes of
// memory.
const maxChanges = 20_000

// Journal holds the last change of each iteration, series and console, ordered by time. Its
// size depends on the number of live series, not on the number of their changes. When the
// journal is full, it drops the oldest change.
type Journal struct {
	sqlite.Passive
	noted []Entry // changes in the current transaction; used only by the writer

	mu     sync.Mutex
	life   string // random id of the journal; part of each cursor
	number uint64 // number of the last change
	floor  uint64 // number of the last dropped change
	order  *list.List
	items  map[Key]*list.Element
}

// Iteration identifies an iteration.
type Iteration struct {
	Num          int64
	ID           string
	ExperimentID string
}

// Key identifies an object that changes. The object is a series if Metric is set, a console if
// Console is set, and otherwise an iteration.
type Key struct {
	Iteration Iteration
	Metric    string
	Console   bool
}

// Entry is the last change of a Key.
type Entry struct {
	Key
	Step    scalar.Step // largest step in a series, or number of a console's last line plus 1
	Deleted bool
	number  uint64
}

// New returns an empty journal.
func New() *Journal {
	var life [6]byte
	rand.Read(life[:]) // never returns an error
	return &Journal{life: hex.EncodeToString(life[:]), order: list.New(), items: map[Key]*list.Element{}}
}

// Note records a change in the current transaction. Only the writer may call Note. Readers get
// the change after the transaction is on disk.
func (j *Journal) Note(e Entry) { j.noted = append(j.noted, e) }

// Mark returns the number of noted changes in the current transaction.
func (j *Journal) Mark() int64 { return int64(len(j.noted)) }

// RolledBack drops the noted changes after the mark.
func (j *Journal) RolledBack(mark int64) { j.noted = j.noted[:mark] }

// Load invalidates all cursors if another process has changed the file. The journal does not
// know the changes of other processes.
func (j *Journal) Load(_ *sqlite.Tx, foreign bool) error {
	if foreign {
		j.forget()
	}
	return nil
}

// Committed adds the noted changes to the journal. It is called after the transaction is on
// disk.
func (j *Journal) Committed() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.noted {
		j.number++
		e.number = j.number
		if old, ok := j.items[e.Key]; ok {
			j.order.Remove(old)
		}
		j.items[e.Key] = j.order.PushBack(e)
	}
	j.noted = j.noted[:0]
	for j.order.Len() > maxChanges {
		oldest := j.order.Remove(j.order.Front()).(Entry)
		delete(j.items, oldest.Key)
		j.floor = oldest.number
	}
}

// forget drops all changes and invalidates all cursors.
func (j *Journal) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.number++
	j.floor = j.number
	j.order.Init()
	clear(j.items)
}

// Since returns the new cursor and the changes after cursor that want accepts, oldest first. If
// cursor is "", Since returns no changes. ok is false if cursor is invalid or if changes after
// cursor were dropped.
func (j *Journal) Since(cursor string, want func(Entry) bool) (found []Entry, next string, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	next = j.life + "-" + strconv.FormatUint(j.number, 10)
	if cursor == "" {
		return nil, next, true
	}
	life, text, _ := strings.Cut(cursor, "-")
	after, err := strconv.ParseUint(text, 10, 64)
	if err != nil || life != j.life || after < j.floor || after > j.number {
		return nil, next, false
	}
	for el := j.order.Back(); el != nil; el = el.Prev() {
		e := el.Value.(Entry)
		if e.number <= after {
			break
		}
		if want(e) {
			found = append(found, e)
		}
	}
	for i, k := 0, len(found)-1; i < k; i, k = i+1, k-1 {
		found[i], found[k] = found[k], found[i]
	}
	return found, next, true
}
