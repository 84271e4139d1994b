package cmd

import (
	"errors"
	"strings"

	"tracker/store/sqlite"
)

// remedies say which setting or command helps with a problem of a database
// file. Each goes on with the sentence of the error.
var remedies = map[sqlite.Problem]string{
	sqlite.Unwritable:  " with --db-file or SERVICE_DB_FILE",
	sqlite.Damaged:     ", with `tracker restore`, --db-file or SERVICE_DB_FILE",
	sqlite.Foreign:     " with --db-file or SERVICE_DB_FILE",
	sqlite.BadVersion:  " with `tracker restore`",
	sqlite.InUse:       " with `tracker backup`",
	sqlite.Overwritten: " (`tracker restore --force`)",
	sqlite.NotForced:   " (--force restores over it)",
}

// withRemedy returns the text of err, with what the command line can do about a
// database file that can't be used.
func withRemedy(err error) string {
	var file *sqlite.FileError
	if !errors.As(err, &file) {
		return err.Error()
	}
	return strings.Replace(err.Error(), file.Text, file.Text+remedies[file.Problem], 1)
}
