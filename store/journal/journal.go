// Package journal holds in memory the last change of each iteration, series and console,
// so that event streams can read the changes after their cursor.
//
// A journal is a participant of each commit: a change is added when its transaction is
// on disk, and dropped if the transaction is rolled back. A journal holds at most
// maxChanges changes. It rejects a cursor if later changes were dropped, and every cursor
// from before a restart or before a write of another process to the file; the reader then
// starts again.
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

// maxChanges is the maximum number of changes in the journal. A change takes about
// 350 bytes.
const maxChanges = 20_000

// Journal holds the last change of each iteration, series and console, in the order of the
// changes. Its size depends on the number of live series, not on the number of their
// changes. The oldest change is dropped first.
type Journal struct {
	sqlite.Passive
	noted []Entry // changes of the current transaction; used only by the writer

	mu     sync.Mutex
	life   string // random id of this journal, which is a part of its cursors
	number uint64 // number of the last change
	floor  uint64 // number of the last change that was dropped
	order  *list.List
	items  map[Key]*list.Element
}

// Iteration identifies an iteration.
type Iteration struct {
	Num          int64
	ID           string
	ExperimentID string
}

// Key identifies a thing that changes: an iteration, one of its series if Metric is set, or
// its console if Console is set.
type Key struct {
	Iteration Iteration
	Metric    string
	Console   bool
}

// Entry is the last change of a Key.
type Entry struct {
	Key
	Step    scalar.Step // largest step of a series; number of the last line of a console plus 1
	Deleted bool
	number  uint64
}

// New returns an empty journal.
func New() *Journal {
	var life [6]byte
	rand.Read(life[:]) // never fails
	return &Journal{life: hex.EncodeToString(life[:]), order: list.New(), items: map[Key]*list.Element{}}
}

// Note records a change in the current transaction. Only the writer may call it. Readers
// get the change when the transaction is on disk.
func (j *Journal) Note(e Entry) { j.noted = append(j.noted, e) }

// Mark returns the number of changes noted in the current transaction.
func (j *Journal) Mark() int64 { return int64(len(j.noted)) }

// RolledBack drops the changes after the mark.
func (j *Journal) RolledBack(mark int64) { j.noted = j.noted[:mark] }

// Load invalidates every cursor if another process has changed the file, because the
// changes are unknown.
func (j *Journal) Load(_ *sqlite.Tx, foreign bool) error {
	if foreign {
		j.forget()
	}
	return nil
}

// Committed adds the changes of a transaction that is on disk.
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

// forget invalidates every cursor.
func (j *Journal) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.number++
	j.floor = j.number
	j.order.Init()
	clear(j.items)
}

// Since returns the changes after cursor for which want returns true, the oldest first, and
// the new cursor. ok is false if cursor is invalid or changes after it were dropped. If
// cursor is empty, Since returns no changes.
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
