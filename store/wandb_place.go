package store

import (
	"context"
	"database/sql"
	"errors"
)

// wandbPlace is where a file of a version lies: the name of an artifact of an iteration.
type wandbPlace struct {
	iteration iterationRef
	name      string
}

// maxPlaces bounds the versions in which a file is looked for.
const maxPlaces = 100

// wandbPlaces returns where the versions in an experiment have files with an MD5, in
// base64. Those of a version that was deleted may be gone.
func (tx *tx) wandbPlaces(experimentID, md5 string) ([]wandbPlace, error) {
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
		var it iterationRef
		var file string
		if err := rows.Scan(&a.Collection, &a.Version, &it.num, &it.id, &file); err != nil {
			return nil, err
		}
		places = append(places, wandbPlace{it, a.File(file)})
	}
	return places, errors.Join(rows.Err(), rows.Close())
}

// WandbFileWith returns the iteration and the name of a file with an MD5, in base64, that
// a version has, or another one in the same experiment when it was deleted. NOT_FOUND
// when none has one. Needs read.
func (db *DB) WandbFileWith(ctx context.Context, actor Actor, id, md5 string) (iterationID, name string, err error) {
	err = db.ask(ctx, func(tx *tx) error {
		a, err := tx.allowWandbArtifact(actor, id, rightRead)
		if err != nil {
			return err
		}
		places, err := tx.wandbPlaces(a.ExperimentID, md5)
		if err != nil {
			return err
		}
		for _, p := range places {
			at, err := tx.allowTree(actor, Tree{IterationID: p.iteration.id}, rightRead)
			if err == nil {
				_, err = tx.file(at, p.name)
			}
			switch {
			case err == nil:
				iterationID, name = p.iteration.id, p.name
				return nil
			case !errors.Is(err, sql.ErrNoRows) && AsError(err).Code != CodeNotFound:
				return err
			}
		}
		return Errorf(CodeNotFound, "No version of the artifact has a file with this MD5.")
	})
	return iterationID, name, err
}
