package store

import (
	linked "container/list"
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
)

// Changes is what happened in an experiment, or to one of its iterations,
// since a cursor.
type Changes struct {
	Cursor     string      `json:"-"`          // where the next call goes on
	Reset      bool        `json:"-"`          // too much happened since: read everything again
	Iterations []Iteration `json:"iterations"` // new, or something but points was changed or recorded
	Deleted    []string    `json:"deleted"`    // ids of iterations
	Series     []Growth    `json:"series"`
}

// Growth says how far a metric has come.
type Growth struct {
	IterationID string `json:"iteration_id"`
	Key         string `json:"key"`
	LastStep    *Step  `json:"last_step"` // nil when its last point was deleted
}

// Empty tells that nothing happened.
func (c Changes) Empty() bool {
	return !c.Reset && len(c.Iterations)+len(c.Deleted)+len(c.Series) == 0
}

// maxChanges bounds how many iterations and series the journal remembers.
const maxChanges = 50_000

// journal remembers when each iteration and series has changed last, in the
// order of the changes: its size depends on how much is alive, not on how
// often that changes. What changed longest ago is forgotten first.
type journal struct {
	mu     sync.Mutex
	life   string // of this journal; a cursor of another one says nothing
	number uint64 // of the last change
	floor  uint64 // of the last one that was forgotten
	order  *linked.List
	items  map[changeKey]*linked.Element
}

// changeKey is an iteration, or with a metric's name one of its series.
type changeKey struct {
	iteration iterationRef
	metric    string
}

type journalEntry struct {
	changeKey
	step    Step // of a series, the largest
	deleted bool
	number  uint64
}

func newJournal() *journal {
	var life [6]byte
	rand.Read(life[:]) // never fails
	return &journal{life: hex.EncodeToString(life[:]), order: linked.New(), items: map[changeKey]*linked.Element{}}
}

// add takes in the changes of a transaction that is on disk.
func (j *journal) add(entries []journalEntry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range entries {
		j.number++
		e.number = j.number
		if old, ok := j.items[e.changeKey]; ok {
			j.order.Remove(old)
		}
		j.items[e.changeKey] = j.order.PushBack(e)
	}
	for j.order.Len() > maxChanges {
		oldest := j.order.Remove(j.order.Front()).(journalEntry)
		delete(j.items, oldest.changeKey)
		j.floor = oldest.number
	}
}

// forget makes every cursor that was given out invalid: another process has
// changed the file, nobody knows what.
func (j *journal) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.number++
	j.floor = j.number
	j.order.Init()
	clear(j.items)
}

// since returns the changes after cursor that pass want, the oldest first, and
// the new cursor. ok is false when the journal does not reach back to cursor;
// with an empty one it begins now.
func (j *journal) since(cursor string, want func(journalEntry) bool) (found []journalEntry, next string, ok bool) {
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
		e := el.Value.(journalEntry)
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

// ExperimentChanges returns what happened in an experiment since cursor, which
// is "" for now or the Cursor of an earlier answer. Needs read.
func (db *DB) ExperimentChanges(ctx context.Context, actor Actor, experimentID, cursor string) (Changes, error) {
	allow := func(tx *tx) error {
		_, err := tx.allowExperiment(actor, experimentID, rightRead)
		return err
	}
	return db.changes(ctx, cursor, allow, func(e journalEntry) bool { return e.iteration.experimentID == experimentID })
}

// IterationChanges is ExperimentChanges for one iteration.
func (db *DB) IterationChanges(ctx context.Context, actor Actor, iterationID, cursor string) (Changes, error) {
	allow := func(tx *tx) error {
		_, err := tx.allowIteration(actor, iterationID, rightRead)
		return err
	}
	return db.changes(ctx, cursor, allow, func(e journalEntry) bool { return e.iteration.id == iterationID })
}

// changes asks the journal first and the database second: what changes between
// the two is in the journal again, after the new cursor.
func (db *DB) changes(ctx context.Context, cursor string, allow func(*tx) error, want func(journalEntry) bool) (Changes, error) {
	found, next, ok := db.journal.since(cursor, want)
	return read(ctx, db, func(tx *tx) (Changes, error) {
		c := Changes{Cursor: next, Reset: !ok, Iterations: []Iteration{}, Deleted: []string{}, Series: []Growth{}}
		if err := allow(tx); err != nil {
			return c, err
		}
		for _, e := range found {
			switch {
			case e.metric != "":
				g := Growth{IterationID: e.iteration.id, Key: e.metric}
				if !e.deleted {
					g.LastStep = &e.step
				}
				c.Series = append(c.Series, g)
			case e.deleted:
				c.Deleted = append(c.Deleted, e.iteration.id)
			default:
				var found []Iteration // none when it was deleted since
				err := tx.all(&found, `SELECT `+iterationColumns+` FROM iteration WHERE num = ?`, e.iteration.num)
				if err != nil {
					return c, err
				}
				tx.db.seen.freshen(found)
				c.Iterations = append(c.Iterations, found...)
			}
		}
		return c, nil
	})
}

// noteIteration has a change of an iteration told when it is on disk.
func (tx *tx) noteIteration(i iterationRef) {
	tx.noted = append(tx.noted, journalEntry{changeKey: changeKey{iteration: i}})
}

// noteNumbered is noteIteration for the iteration with a number, nil for none.
func (tx *tx) noteNumbered(num *int64) error {
	if num == nil {
		return nil
	}
	i := iterationRef{num: *num}
	err := tx.row(`SELECT id, experiment_id FROM iteration WHERE num = ?`, *num).Scan(&i.id, &i.experimentID)
	if err == nil {
		tx.noteIteration(i)
	}
	return err
}

// noteParent has the parent of an iteration told, whose children it is one of.
func (tx *tx) noteParent(num int64) error {
	var parent *int64
	if err := tx.row(`SELECT parent_num FROM iteration WHERE num = ?`, num).Scan(&parent); err != nil {
		return err
	}
	return tx.noteNumbered(parent)
}

// noteSeries has a change of a series told when it is on disk.
func (tx *tx) noteSeries(i iterationRef, key string, s *stats) {
	e := journalEntry{changeKey: changeKey{i, key}}
	if s.LastStep != nil {
		e.step = *s.LastStep
	} else {
		e.deleted = true
	}
	tx.noted = append(tx.noted, e)
}
