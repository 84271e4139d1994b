package wandb

import (
	"context"
	"strconv"

	"tracker/store/console"
	"tracker/store/domain"
	"tracker/store/runs"
)

// exitInterrupted is the exit code of an interrupted run.
const exitInterrupted = 255

// Append writes a part of the data stream of a run. If it returns an error, it has written nothing.
// Values of a row replace values with the same step and key, so sending a part twice has no further
// effect. The status of an ended run does not change.
//
// stopped reports whether the client must stop its script, because the run was ended on the server
// or has a stop request. The actor needs the right to create, and also the right to update if
// values are replaced or the run has ended.
func (db *DB) Append(ctx context.Context, actor domain.Actor, id string, s Stream) (stopped bool, err error) {
	return domain.Write(ctx, db.base, actor, func(tx *domain.Tx) (bool, error) {
		it, err := runs.AllowReopened(tx, id)
		if err != nil {
			return false, err
		}
		w, err := wandbRun(tx, it.IterationRef)
		if err != nil {
			return false, err
		}
		var from *writer
		if s.Writer != "" {
			one, _, err := wandbTx(tx).writer(it.Num, s.Writer)
			if err != nil {
				return false, err
			}
			from, w.Shared = &one, true
		}
		replaced, err := wandbTx(tx).Append(it.Num, &w, from, s)
		if err != nil {
			return false, err
		}
		if replaced > 0 {
			if err := tx.AllowRun(actor, it.ProjectID, it.Num, domain.RightUpdate); err != nil {
				return false, err
			}
		}
		if n := len(s.Output); n > 0 {
			// The console keeps only MaxLines lines. With one more line, it reports that lines were
			// dropped.
			lines := s.Output[max(0, n-console.MaxLines-1):]
			first := max(0, min(s.LogLines, console.MaxNumber)-int64(len(lines)))
			switch {
			case from != nil:
				next, err := from.print(tx, it.IterationRef, first, lines)
				if err != nil {
					return false, err
				}
				w.LogLines = max(w.LogLines, next)
			case w.Shared:
				w.Lose("Lines printed by one of several writers were left out, because they were sent later by wandb sync.")
			default:
				if _, err := runs.WriteConsole(tx, it.IterationRef, &first, lines); err != nil {
					return false, err
				}
			}
		}
		if s.Summary != nil || s.Complete {
			if err := tx.Points().Flush(); err != nil {
				return false, err
			}
			text := w.Summary
			if s.Summary != nil {
				text = *s.Summary
				if w.Shared {
					text = merged(w.Summary, text)
				}
			}
			// The summary of one of several writers can be older than the metrics of the others.
			if err := wandbTx(tx).SetSummary(it.Num, &w, text, s.Complete && !w.Shared); err != nil {
				return false, err
			}
		}
		if w.Start > 0 {
			_, err := tx.Exec(`UPDATE iteration SET created_date = ? WHERE num = ? AND created_date > ?`, w.Start, it.Num, w.Start)
			if err != nil {
				return false, err
			}
		}
		request, err := runs.StopRequest(tx, it.IterationRef)
		if err != nil {
			return false, err
		}
		stopped := it.Ended() && !w.Complete || request != ""
		if s.Complete && (from == nil || !from.complete) {
			if err := completeRun(tx, it, &w, s.ExitCode, request); err != nil {
				return false, err
			}
		}
		if from != nil {
			from.complete = from.complete || s.Complete
			if err := wandbTx(tx).saveWriter(it.Num, *from); err != nil {
				return false, err
			}
		}
		return stopped, wandbTx(tx).Save(it.Num, w)
	})
}

// completeRun ends a run with the exit code of its client. It does not change the status of a run
// that has already ended, unless another writer of the run has ended it: the last writer that
// announces the end decides. request is the message for a run with a stop request, or "". Such a run
// is KILLED whatever its exit code, because a script can catch the interrupt.
func completeRun(tx *domain.Tx, it domain.IterationState, w *Run, code int, request string) error {
	byWriter := w.Shared && w.Complete
	w.Complete = true
	if it.Ended() && !byWriter {
		return nil
	}
	status, message := domain.Succeeded, ""
	switch {
	case request != "":
		status, message = domain.Killed, request
	case code != 0 && w.Preempting:
		status, message = domain.Killed, preempted
	case code == exitInterrupted:
		status, message = domain.Killed, "interrupted"
	case code != 0:
		status, message = domain.Failed, "exit code "+strconv.Itoa(code)
	}
	end := tx.Now
	if w.Last > 0 && domain.Silent(w.Last, end) {
		end = w.Last // the run was recorded offline, and the client sends it later
	}
	tx.Seen = append(tx.Seen, it.Num)
	return runs.SetEnd(tx, it.IterationRef, runs.End{Status: status, Message: message, Date: &end})
}
