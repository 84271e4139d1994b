package collections

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/domain"
	"tracker/store/files"
)

// place is the location of a file of an artifact version: an iteration and the name of one of
// its artifacts.
type place struct {
	iteration domain.IterationRef
	name      string
}

// maxPlaces is the maximum number of locations that are searched for a file.
const maxPlaces = 100

// eachPlace calls fn for the locations of files with the given MD5, in base64, in the artifact
// versions of a project. It stops when fn returns true or an error. The file at a location may
// have been deleted.
func eachPlace(tx *domain.Tx, projectID, md5 string, fn func(place) (bool, error)) error {
	// CROSS JOIN fixes the order of the tables, so that the query does not read files with the same
	// MD5 in other projects.
	rows, err := tx.Rows(`SELECT
			artifact_version.collection,
			artifact_version.version,
			iteration.num,
			iteration.id,
			artifact_file.name
		FROM artifact_version
		CROSS JOIN artifact_file ON artifact_file.md5 = ? AND artifact_file.artifact_num = artifact_version.num
		CROSS JOIN iteration ON iteration.num = artifact_version.iteration_num
		WHERE artifact_version.experiment_id IN (SELECT id FROM experiment WHERE project_id = ? AND deleted_date IS NULL)
			AND artifact_version.state <> 'DELETED' LIMIT ?`, md5, projectID, maxPlaces)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var a Version
		var it domain.IterationRef
		var file string
		if err := rows.Scan(&a.Collection, &a.Version, &it.Num, &it.ID, &file); err != nil {
			return err
		}
		if done, err := fn(place{it, a.File(file)}); done || err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// FileWith returns the iteration and the name of a file with the given MD5, in base64. It searches
// the project that contains the version with the given id, and returns NOT_FOUND if there is no
// such file. The actor needs the right to read.
func (db *DB) FileWith(ctx context.Context, actor domain.Actor, id, md5 string) (iterationID, name string, err error) {
	err = db.base.Ask(ctx, func(tx *domain.Tx) error {
		a, err := allowVersion(tx, actor, id, domain.RightRead)
		if err != nil {
			return err
		}
		err = eachPlace(tx, a.ProjectID, md5, func(p place) (bool, error) {
			at, err := files.AllowTree(tx, actor, files.Tree{IterationID: p.iteration.ID}, domain.RightRead)
			if err == nil {
				_, err = files.FileNamed(tx, at, p.name)
			}
			if errors.Is(err, sql.ErrNoRows) || err != nil && domain.AsError(err).Code == domain.CodeNotFound {
				return false, nil
			}
			iterationID, name = p.iteration.ID, p.name
			return true, err
		})
		if err == nil && iterationID == "" {
			err = domain.Errorf(domain.CodeNotFound, "No version of the artifact has a file with this MD5.")
		}
		return err
	})
	return iterationID, name, err
}
