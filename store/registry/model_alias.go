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

// Aliases are names for a version of a model, sorted. Within a model an alias names one
// version.
type Aliases []string

// Scan reads a JSON list.
func (a *Aliases) Scan(from any) error {
	text, ok := from.(string)
	if !ok {
		return fmt.Errorf("aliases must be stored as text, not %T", from)
	}
	return json.Unmarshal([]byte(text), (*[]string)(a))
}

// MaxAliases is the maximum number of aliases of a version.
const MaxAliases = 100

var (
	aliasFormat   = regexp.MustCompile(`^[\pL\pN_-]+$`)
	versionFormat = regexp.MustCompile(`^[vV]\d+$`)
)

// checkAlias returns an error if s is not valid or could be read as a version number.
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

// CheckAliases returns an error if an alias is not valid.
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

// setAliases replaces the aliases of v by all.
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

// SetAlias gives an alias to a version. The version of the model that had the alias loses it.
func SetAlias(tx *domain.Tx, v ModelVersion, alias string) error {
	_, err := tx.Exec(`INSERT INTO model_alias (model_id, alias, version_id) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET version_id = excluded.version_id`, v.ModelID, alias, v.ID)
	return err
}

// AddAlias gives a version one more alias. Another version of the model that had the
// alias loses it. Needs update.
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

// RemoveAlias removes an alias of a model from its version. It does nothing if no
// version has the alias. Needs update.
func (db *DB) RemoveAlias(ctx context.Context, actor domain.Actor, modelID, alias string) error {
	return domain.Change(ctx, db.base, actor, func(tx *domain.Tx) error {
		if _, err := AllowModel(tx, actor, modelID, domain.RightUpdate); err != nil {
			return err
		}
		_, err := tx.Exec(`DELETE FROM model_alias WHERE model_id = ? AND alias = ?`, modelID, alias)
		return err
	})
}
