package registry

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tracker/store/domain"
	"tracker/store/json"
)

// Aliases is the sorted list of a model version's aliases. An alias belongs to at most one
// version of a model.
type Aliases []string

// Scan decodes the stored JSON list.
func (a *Aliases) Scan(from any) error {
	text, ok := from.(string)
	if !ok {
		return fmt.Errorf("aliases must be stored as text, not %T", from)
	}
	return json.Unmarshal([]byte(text), (*[]string)(a))
}

// MaxAliases is the maximum number of aliases that a version can have.
const MaxAliases = 100

var (
	aliasFormat   = regexp.MustCompile(`^[\pL\pN_-]+$`)
	versionFormat = regexp.MustCompile(`^[vV]\d+$`)
)

// checkAlias returns an error if s is not a valid alias or looks like a version number.
func checkAlias(s string) error {
	switch {
	case !aliasFormat.MatchString(s) || utf8.RuneCountInString(s) > domain.MaxName:
		return domain.Invalid("aliases", "An alias must have 1 to %d letters, digits, underscores and hyphens.", domain.MaxName)
	case strings.EqualFold(s, "latest"):
		return domain.Invalid("aliases", "The alias latest is reserved for the newest version; choose another name.")
	case versionFormat.MatchString(s):
		return domain.Invalid("aliases", "The alias %s could be confused with a version number; choose another name.", s)
	}
	return nil
}

// CheckAliases returns an error if there are too many aliases or one of them is not valid.
func CheckAliases(all []string) error {
	if len(all) > MaxAliases {
		return domain.Invalid("aliases", "A version can have up to %d aliases.", MaxAliases)
	}
	for _, alias := range all {
		if err := checkAlias(alias); err != nil {
			return err
		}
	}
	return nil
}

func sortedAliases(all []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

// setAliases replaces the aliases of version v with the aliases in all.
func setAliases(tx *domain.Tx, v ModelVersion, all []string) error {
	if _, err := tx.Exec(`DELETE FROM model_alias WHERE version_id = ?`, v.ID); err != nil {
		return err
	}
	for _, alias := range all {
		if err := SetAlias(tx, v, alias); err != nil {
			return err
		}
	}
	return nil
}

// SetAlias adds an alias to version v. If another version of the model has the alias, SetAlias
// removes the alias from that version.
func SetAlias(tx *domain.Tx, v ModelVersion, alias string) error {
	_, err := tx.Exec(`INSERT INTO model_alias (model_id, alias, version_id) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET version_id = excluded.version_id`, v.ModelID, alias, v.ID)
	return err
}

// AddAlias adds an alias to a version. If another version of the model has the alias, AddAlias
// removes the alias from that version. The actor needs the right to update.
func (db *DB) AddAlias(ctx context.Context, actor domain.Actor, versionID, alias string) error {
	if err := checkAlias(alias); err != nil {
		return err
	}
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		v, _, err := AllowModelVersion(tx, actor, versionID, domain.RightUpdate)
		if err != nil || slices.Contains(v.Aliases, alias) {
			return err
		}
		if len(v.Aliases) >= MaxAliases {
			return domain.Invalid("aliases", "A version can have up to %d aliases; remove one first.", MaxAliases)
		}
		return SetAlias(tx, v, alias)
	})
}

// RemoveAlias removes an alias from a model. It does nothing if no version of the model has the
// alias. The actor needs the right to update.
func (db *DB) RemoveAlias(ctx context.Context, actor domain.Actor, modelID, alias string) error {
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		if _, err := AllowModel(tx, actor, modelID, domain.RightUpdate); err != nil {
			return err
		}
		_, err := tx.Exec(`DELETE FROM model_alias WHERE model_id = ? AND alias = ?`, modelID, alias)
		return err
	})
}
