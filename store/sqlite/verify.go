package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"
)

// Verify checks that the file at path is an undamaged database that this program can open. It
// does not change the file. It returns a *FileError if the file has a write-ahead log, because
// the file alone is then incomplete.
func (s Schema) Verify(ctx context.Context, path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fileError(Missing, nil, "the file %s does not exist", path)
	} else if err != nil {
		return err
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return fileError(InUse, nil, "%s is in use or was not closed; make a backup of it first", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	var file *FileError
	if err := checkTruncation(abs); errors.As(err, &file) && file.Problem == Damaged {
		return fileError(BadBackup, err, "%s is damaged; choose another backup", path)
	} else if err != nil {
		return err
	}
	pool, err := sqlx.Open("sqlite", DSN(abs, readerPragmas...))
	if err != nil {
		return err
	}
	defer pool.Close()
	c, err := openConn(ctx, pool)
	if err != nil {
		return backupError(abs, err)
	}
	defer c.close()
	tx := &Tx{conn: c, ctx: ctx}
	scripts, err := s.Scripts()
	if err != nil {
		return err
	}
	version, err := s.version(tx, abs, len(scripts))
	if err != nil {
		return backupError(abs, err)
	}
	if version == 0 {
		return fileError(Empty, nil, "%s is an empty file, not a database of %s", path, s.Application)
	}
	problems, err := tx.Integrity()
	if err != nil {
		return backupError(abs, err)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s is damaged: %s", path, problems[0])
	}
	return nil
}

// backupError is like OpenError, for a backup that is about to be restored. Its message does not
// recommend restoring a backup.
func backupError(path string, err error) error {
	if IsDamaged(err) {
		return fileError(BadBackup, err, "%s is damaged or not a SQLite database; choose another backup", path)
	}
	return OpenError(path, err)
}

// Integrity runs SQLite's checks of the file and of all foreign keys. It returns one message
// for each problem.
func (tx *Tx) Integrity() (problems []string, err error) {
	var lines []string
	if err := tx.Select(&lines, `PRAGMA integrity_check`); err != nil {
		return nil, err
	}
	for _, line := range lines {
		if line != "ok" {
			problems = append(problems, "SQLite: "+line)
		}
	}
	var broken []struct {
		Table  string `db:"table"`
		Rowid  *int64 `db:"rowid"`
		Parent string `db:"parent"`
		FKID   int    `db:"fkid"`
	}
	if err := tx.Select(&broken, `PRAGMA foreign_key_check`); err != nil {
		return problems, err
	}
	for _, b := range broken {
		problems = append(problems, fmt.Sprintf("A row of table %s refers to a missing row of %s.", b.Table, b.Parent))
	}
	return problems, nil
}
