package store

import (
	linked "container/list"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"sync"

	"tracker/store/sqlite"
)

// Changes holds the changes of an experiment, or of one of its iterations, since a
// cursor.
type Changes struct {
	Cursor     string      `json:"-"`          // where the next call goes on
	Reset      bool        `json:"-"`          // too much happened since: read everything again
	Iterations []Iteration `json:"iterations"` // new, or something but points was changed or recorded
	Deleted    []string    `json:"deleted"`    // ids of iterations
	Series     []Growth    `json:"series"`
	// Console has the consoles that grew, among the changes of one iteration only.
	Console []ConsoleGrowth `json:"console,omitzero"`
}

// Growth is how far a metric has come.
type Growth struct {
	IterationID string `json:"iteration_id"`
	Key         string `json:"key"`
	LastStep    *Step  `json:"last_step"` // nil when its last point was deleted
}

// Empty reports whether nothing happened.
func (c Changes) Empty() bool {
	return !c.Reset && len(c.Iterations)+len(c.Deleted)+len(c.Series)+len(c.Console) == 0
}

// maxChanges bounds how many iterations and series the journal remembers, some
// 350 bytes each.
const maxChanges = 20_000

// journal holds the last change of each iteration and series, in the order of the
// changes. So its size depends on the number of live series, not on how often they
// change. The oldest change is dropped first.
type journal struct {
	sqlite.Passive
	noted []journalEntry // by the transaction under way; the writer's own

	mu     sync.Mutex
	life   string // of this journal; a cursor of another one says nothing
	number uint64 // of the last change
	floor  uint64 // of the last one that was forgotten
	order  *linked.List
	items  map[changeKey]*linked.Element
}

// changeKey is an iteration, or with a metric's name one of its series, or its console.
type changeKey struct {
	iteration iterationRef
	metric    string
	console   bool
}

type journalEntry struct {
	changeKey
	step    Step // of a series, the largest; of a console, the number after its last line
	deleted bool
	number  uint64
}

func newJournal() *journal {
	var life [6]byte
	rand.Read(life[:]) // never fails
	return &journal{life: hex.EncodeToString(life[:]), order: linked.New(), items: map[changeKey]*linked.Element{}}
}

// note records a change. Readers get it when the transaction is on disk.
func (j *journal) note(e journalEntry) { j.noted = append(j.noted, e) }

// Mark returns how many changes are noted.
func (j *journal) Mark() int64 { return int64(len(j.noted)) }

// RolledBack drops the changes after the mark.
func (j *journal) RolledBack(mark int64) { j.noted = j.noted[:mark] }

// Load invalidates every cursor when another process has changed the file, because
// it is unknown what has changed.
func (j *journal) Load(_ *sqlite.Tx, foreign bool) error {
	if foreign {
		j.forget()
	}
	return nil
}

// Committed adds the changes of a transaction that is on disk.
func (j *journal) Committed() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.noted {
		j.number++
		e.number = j.number
		if old, ok := j.items[e.changeKey]; ok {
			j.order.Remove(old)
		}
		j.items[e.changeKey] = j.order.PushBack(e)
	}
	j.noted = j.noted[:0]
	for j.order.Len() > maxChanges {
		oldest := j.order.Remove(j.order.Front()).(journalEntry)
		delete(j.items, oldest.changeKey)
		j.floor = oldest.number
	}
}

// forget invalidates every cursor.
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

// ExperimentChanges returns the changes of an experiment since cursor, which is
// "" for now or the Cursor of an earlier answer. Needs read.
func (db *DB) ExperimentChanges(ctx context.Context, actor Actor, experimentID, cursor string) (Changes, error) {
	allow := func(tx *tx) error {
		_, err := tx.allowExperiment(actor, experimentID, rightRead)
		return err
	}
	return db.changes(ctx, cursor, allow, func(e journalEntry) bool {
		return e.iteration.experimentID == experimentID && !e.console
	})
}

// IterationChanges is ExperimentChanges for one iteration.
func (db *DB) IterationChanges(ctx context.Context, actor Actor, iterationID, cursor string) (Changes, error) {
	allow := func(tx *tx) error {
		_, err := tx.allowIteration(actor, iterationID, rightRead)
		return err
	}
	return db.changes(ctx, cursor, allow, func(e journalEntry) bool { return e.iteration.id == iterationID })
}

// changes reads the journal first and the database second: a change between the
// two comes again, after the new cursor.
func (db *DB) changes(ctx context.Context, cursor string, allow func(*tx) error, want func(journalEntry) bool) (Changes, error) {
	found, next, ok := db.journal.since(cursor, want)
	return read(ctx, db, func(tx *tx) (Changes, error) {
		c := Changes{Cursor: next, Reset: !ok, Iterations: []Iteration{}, Deleted: []string{}, Series: []Growth{}}
		if err := allow(tx); err != nil {
			return c, err
		}
		for _, e := range found {
			switch {
			case e.console:
				c.Console = append(c.Console, ConsoleGrowth{e.iteration.id, int64(e.step)})
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
				err := tx.Select(&found, `SELECT `+iterationColumns+` FROM iteration WHERE num = ? AND deleted_date IS NULL`, e.iteration.num)
				if err != nil {
					return c, err
				}
				tx.db.lastSeen.freshen(found)
				c.Iterations = append(c.Iterations, found...)
			}
		}
		return c, nil
	})
}

// noteIteration records a change of an iteration.
func (tx *tx) noteIteration(i iterationRef) {
	tx.db.journal.note(journalEntry{changeKey: changeKey{iteration: i}})
}

// noteNumbered is noteIteration for the iteration with a number, nil for none.
func (tx *tx) noteNumbered(num *int64) error {
	if num == nil {
		return nil
	}
	i := iterationRef{num: *num}
	err := tx.Row(`SELECT id, experiment_id FROM iteration WHERE num = ?`, *num).Scan(&i.id, &i.experimentID)
	if err == nil {
		tx.noteIteration(i)
	}
	return err
}

// noteParent records a change of the children of an iteration's parent.
func (tx *tx) noteParent(num int64) error {
	var parent *int64
	if err := tx.Row(`SELECT parent_num FROM iteration WHERE num = ?`, num).Scan(&parent); err != nil {
		return err
	}
	return tx.noteNumbered(parent)
}

// noteSeries records a change of a series. last is the
// largest step of the series, nil when it has no point any more.
func (db *DB) noteSeries(t *sqlite.Tx, iteration int64, key string, last *Step) error {
	ref, ok := db.openIterations.byNum[iteration]
	if !ok {
		ref.num = iteration
		err := t.Row(`SELECT id, experiment_id FROM iteration WHERE num = ?`, iteration).Scan(&ref.id, &ref.experimentID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // the file is damaged, and this repairs it
		}
		if err != nil {
			return err
		}
	}
	e := journalEntry{changeKey: changeKey{iteration: ref, metric: key}}
	if last != nil {
		e.step = *last
	} else {
		e.deleted = true
	}
	db.journal.note(e)
	return nil
}
