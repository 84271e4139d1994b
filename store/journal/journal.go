// Package journal remembers in memory which iterations, series and consoles have
// changed, the last change of each, so that event streams can ask for what is newer than
// their cursor.
//
// A journal is a participant of each commit: a change is there once its transaction is
// on disk, and not at all when that was rolled back. It has at most maxChanges; a
// cursor that it does not reach back to is refused, and the reader begins anew. So is
// every cursor after a restart or after another process has written to the file.
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

// maxChanges bounds how many iterations and series the journal remembers, some
// 350 bytes each.
const maxChanges = 20_000

// Journal holds the last change of each iteration and series, in the order of the
// changes. So its size depends on the number of live series, not on how often they
// change. The oldest change is dropped first.
type Journal struct {
	sqlite.Passive
	noted []Entry // by the transaction under way; the writer's own

	mu     sync.Mutex
	life   string // names this journal; cursors of others are refused
	number uint64 // of the last change
	floor  uint64 // of the last one that was forgotten
	order  *list.List
	items  map[Key]*list.Element
}

// Iteration identifies an iteration.
type Iteration struct {
	Num          int64
	ID           string
	ExperimentID string
}

// Key names what a change is of: an iteration, or with a metric one of its series, or its
// console.
type Key struct {
	Iteration Iteration
	Metric    string
	Console   bool
}

// Entry is the last change of a Key.
type Entry struct {
	Key
	Step    scalar.Step // of a series, the largest; of a console, the number after its last line
	Deleted bool
	number  uint64
}

// New returns an empty journal.
func New() *Journal {
	var life [6]byte
	rand.Read(life[:]) // never fails
	return &Journal{life: hex.EncodeToString(life[:]), order: list.New(), items: map[Key]*list.Element{}}
}

// Note records a change in the transaction under way; for the writer only. Readers get
// it when the transaction is on disk.
func (j *Journal) Note(e Entry) { j.noted = append(j.noted, e) }

// Mark returns how many changes are noted.
func (j *Journal) Mark() int64 { return int64(len(j.noted)) }

// RolledBack drops the changes after the mark.
func (j *Journal) RolledBack(mark int64) { j.noted = j.noted[:mark] }

// Load invalidates every cursor when another process has changed the file, because
// it is unknown what has changed.
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

// Since returns the changes after cursor that pass want, the oldest first, and
// the new cursor. ok is false when the journal does not reach back to cursor;
// with an empty one it begins now.
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
