package collections

import (
	"context"
	"errors"
	"time"

	"tracker/store/domain"
)

// expirePause is the time between two searches for versions whose time to live has passed.
const expirePause = 10 * time.Minute

// DeleteExpired deletes the versions whose time to live has passed, with their aliases. It keeps
// versions to which a model version refers.
func (db *DB) DeleteExpired(ctx context.Context) error {
	ids, err := domain.Read(ctx, db.base, func(tx *domain.Tx) (ids []string, err error) {
		return ids, tx.Select(&ids, `SELECT artifact_version.id `+versionFrom+`WHERE artifact_version.ttl IS NOT NULL
			AND artifact_version.state = 'COMMITTED' AND artifact_version.created_date + artifact_version.ttl * 1000 <= ?
			ORDER BY artifact_version.num LIMIT ?`, tx.Now, MaxVersions)
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		_, err := db.DeleteVersion(ctx, domain.System, id, true)
		var e *domain.Error
		if err != nil && !(errors.As(err, &e) && (e.Code == domain.CodeConflict || e.Code == domain.CodeNotFound)) {
			return err
		}
	}
	return nil
}

// ExpireVersions calls DeleteExpired immediately and then every expirePause. It returns when the
// database closes.
func (db *DB) ExpireVersions(ctx context.Context) {
	db.base.Repeat(ctx, expirePause, "could not delete artifacts whose time to live has passed; will try again", func() error {
		return db.DeleteExpired(ctx)
	})
}
