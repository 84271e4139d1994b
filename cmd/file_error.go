package cmd

import (
	"errors"
	"strings"

	"tracker/store/sqlite"
)

// remedies maps each problem with a database file to advice about a setting or command. The advice
// completes the sentence of the error message.
var remedies = map[sqlite.Problem]string{
	sqlite.Unwritable:  " with --db-file or SERVICE_DB_FILE",
	sqlite.Damaged:     ", with `tracker restore`, --db-file or SERVICE_DB_FILE",
	sqlite.Foreign:     " with --db-file or SERVICE_DB_FILE",
	sqlite.BadVersion:  " with `tracker restore`",
	sqlite.InUse:       " with `tracker backup`",
	sqlite.Overwritten: " (`tracker restore --force`)",
	sqlite.NotForced:   " (--force restores over it)",
}

// withRemedy returns the message of err, with advice from remedies if err is about an unusable
// database file.
func withRemedy(err error) string {
	var file *sqlite.FileError
	if !errors.As(err, &file) {
		return err.Error()
	}
	return strings.Replace(err.Error(), file.Text, file.Text+remedies[file.Problem], 1)
}
