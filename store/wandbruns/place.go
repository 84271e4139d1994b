package wandbruns

import (
	"context"
	"database/sql"
	"errors"

	"tracker/store/access"
	"tracker/store/files"
)

// wandbPlace is where a file of a version lies: the name of an artifact of an iteration.
type wandbPlace struct {
	iteration access.IterationRef
	name      string
}

// maxPlaces bounds the versions in which a file is looked for.
const maxPlaces = 100

// wandbPlaces returns where the versions in an experiment have files with an MD5, in
// base64. Those of a version that was deleted may be gone.
func wandbPlaces(tx *access.Tx, experimentID, md5 string) ([]wandbPlace, error) {
	rows, err := tx.Rows(`SELECT
			wandb_artifact.collection,
			wandb_artifact.version,
			iteration.num,
			iteration.id,
			wandb_file.name
		FROM wandb_file
		JOIN wandb_artifact ON wandb_artifact.num = wandb_file.artifact_num
		JOIN iteration ON iteration.num = wandb_artifact.iteration_num
		WHERE wandb_file.md5 = ? AND wandb_artifact.experiment_id = ? LIMIT ?`, md5, experimentID, maxPlaces)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var places []wandbPlace
	for rows.Next() {
		var a WandbArtifact
		var it access.IterationRef
		var file string
		if err := rows.Scan(&a.Collection, &a.Version, &it.Num, &it.ID, &file); err != nil {
			return nil, err
		}
		places = append(places, wandbPlace{it, a.File(file)})
	}
	return places, errors.Join(rows.Err(), rows.Close())
}

// WandbFileWith returns the iteration and the name of a file with an MD5, in base64, that
// a version has, or another one in the same experiment when it was deleted. NOT_FOUND
// when none has one. Needs read.
func (db *DB) WandbFileWith(ctx context.Context, actor access.Actor, id, md5 string) (iterationID, name string, err error) {
	err = db.base.Ask(ctx, func(tx *access.Tx) error {
		a, err := allowWandbArtifact(tx, actor, id, access.RightRead)
		if err != nil {
			return err
		}
		places, err := wandbPlaces(tx, a.ExperimentID, md5)
		if err != nil {
			return err
		}
		for _, p := range places {
			at, err := files.AllowTree(tx, actor, files.Tree{IterationID: p.iteration.ID}, access.RightRead)
			if err == nil {
				_, err = files.FileNamed(tx, at, p.name)
			}
			switch {
			case err == nil:
				iterationID, name = p.iteration.ID, p.name
				return nil
			case !errors.Is(err, sql.ErrNoRows) && access.AsError(err).Code != access.CodeNotFound:
				return err
			}
		}
		return access.Errorf(access.CodeNotFound, "No version of the artifact has a file with this MD5.")
	})
	return iterationID, name, err
}
