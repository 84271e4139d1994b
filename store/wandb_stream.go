package store

import (
	"context"
	"strconv"

	"tracker/store/console"
	"tracker/store/wandb"
)

// exitInterrupted is the exit code of a run that somebody has interrupted.
const exitInterrupted = 255

// AppendWandb writes a part of the stream of a run, all of it or, with an error,
// nothing. A row whose step is there takes the place of what it had for the same
// keys, so a part that comes again changes nothing. The run may have ended, and then
// stays ended as it was; stopped reports that it was ended here and not by its client.
// Needs create, and update where values are replaced or the run has ended.
func (db *DB) AppendWandb(ctx context.Context, actor Actor, id string, s wandb.Stream) (stopped bool, err error) {
	return write(ctx, db, actor, func(tx *tx) (bool, error) {
		it, err := tx.allowReopened(id)
		if err != nil {
			return false, err
		}
		w, err := tx.wandbRun(it.iterationRef)
		if err != nil {
			return false, err
		}
		replaced, err := tx.wandb().Append(it.num, &w, s)
		if err != nil {
			return false, err
		}
		if replaced > 0 {
			if err := tx.allow(actor, it.projectID, rightUpdate); err != nil {
				return false, err
			}
		}
		if n := len(s.Output); n > 0 {
			// No more is kept.
			lines := s.Output[max(0, n-MaxConsoleLines):]
			from := max(0, min(s.LogLines, console.MaxNumber)-int64(len(lines)))
			if _, err := tx.writeConsole(it.iterationRef, &from, lines); err != nil {
				return false, err
			}
		}
		if s.Summary != nil || s.Complete {
			if err := tx.points().Flush(); err != nil {
				return false, err
			}
			text := w.Summary
			if s.Summary != nil {
				text = *s.Summary
			}
			if err := tx.wandb().SetSummary(it.num, &w, text, s.Complete); err != nil {
				return false, err
			}
		}
		if w.Start > 0 {
			_, err := tx.Exec(`UPDATE iteration SET created_date = ? WHERE num = ? AND created_date > ?`, w.Start, it.num, w.Start)
			if err != nil {
				return false, err
			}
		}
		stopped := it.ended() && !w.Complete
		if s.Complete {
			if err := tx.completeWandb(it, &w, s.ExitCode); err != nil {
				return false, err
			}
		}
		tx.noteIteration(it.iterationRef)
		return stopped, tx.wandb().Save(it.num, w)
	})
}

// completeWandb ends a run as its client says. One that has ended stays as it is.
func (tx *tx) completeWandb(it iterationState, w *wandb.Run, code int) error {
	w.Complete = true
	if it.ended() {
		return nil
	}
	status, message := Succeeded, ""
	switch {
	case code != 0 && w.Preempting:
		status, message = Killed, preempted
	case code == exitInterrupted:
		status, message = Killed, "interrupted"
	case code != 0:
		status, message = Failed, "exit code "+strconv.Itoa(code)
	}
	end := tx.now
	if w.Last > 0 && end-w.Last > Time(LostAfter.Milliseconds()) {
		end = w.Last // it was recorded before and is sent now
	}
	_, err := tx.Exec(`UPDATE iteration SET status = ?, error_message = ?, end_date = max(?, created_date) WHERE num = ?`,
		status, message, end, it.num)
	tx.seen = append(tx.seen, it.num)
	if err != nil {
		return err
	}
	return tx.noteParent(it.num)
}
