package sqlite_test

import (
	"testing"

	"tracker/store/sqlite"
)

// A command that runs beside a server closes the file at once, even if another program, such as
// one that copies the log, has a snapshot open. Waiting for the end of the snapshot would block
// the server's writes.
func TestCloseDoesNotWaitForSnapshots(t *testing.T) {
	server := open(t, sqlite.Options{Exclusive: true})
	wantOK(t, server.Write(ctx, sqlite.Change, add("first")))
	execSQL(t, raw(t, server.Path()), `BEGIN; SELECT count(*) FROM note`)
	wantOK(t, server.Write(ctx, sqlite.Change, add("second")))
	command := open(t, sqlite.Options{Path: server.Path()})
	closed := make(chan error, 1)
	go func() { closed <- command.Close() }()
	for {
		wantOK(t, server.Write(ctx, sqlite.Upkeep, func(tx *sqlite.Tx) error {
			_, err := tx.Exec(`UPDATE note SET text = 'first' WHERE id = 1`)
			return err
		}))
		select {
		case err := <-closed:
			wantOK(t, err)
			return
		default:
		}
	}
}
