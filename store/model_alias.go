package store

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tracker/store/json"
)

// Aliases are names for a version of a model, sorted. A model gives each to one
// version.
type Aliases []string

// Scan reads a JSON list.
func (a *Aliases) Scan(from any) error {
	text, ok := from.(string)
	if !ok {
		return fmt.Errorf("aliases are a text, not %T", from)
	}
	return json.Unmarshal([]byte(text), (*[]string)(a))
}

// MaxAliases is the largest number of aliases of a version.
const MaxAliases = 100

var (
	aliasFormat   = regexp.MustCompile(`^[\pL\pN_-]+$`)
	versionFormat = regexp.MustCompile(`^[vV]\d+$`)
)

// checkAlias accepts a name that cannot be taken for a version number.
func checkAlias(s string) error {
	switch {
	case !aliasFormat.MatchString(s) || utf8.RuneCountInString(s) > MaxName:
		return Invalid("aliases", "An alias must have 1 to %d letters, digits, underscores and hyphens.", MaxName)
	case strings.EqualFold(s, "latest"):
		return Invalid("aliases", "The alias latest is reserved for the newest version; choose another name.")
	case versionFormat.MatchString(s):
		return Invalid("aliases", "The alias %s could be taken for the number of a version; choose another name.", s)
	}
	return nil
}

func checkAliases(all []string) error {
	if len(all) > MaxAliases {
		return Invalid("aliases", "A version can have up to %d aliases.", MaxAliases)
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

// setAliases gives v these aliases and no others.
func (tx *tx) setAliases(v ModelVersion, all []string) error {
	if _, err := tx.Exec(`DELETE FROM model_alias WHERE version_id = ?`, v.ID); err != nil {
		return err
	}
	for _, alias := range all {
		if err := tx.setAlias(v, alias); err != nil {
			return err
		}
	}
	return nil
}

func (tx *tx) setAlias(v ModelVersion, alias string) error {
	_, err := tx.Exec(`INSERT INTO model_alias (model_id, alias, version_id) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET version_id = excluded.version_id`, v.ModelID, alias, v.ID)
	return err
}

// AddAlias gives a version one more alias; another version of the model that has
// it loses it. Needs update.
func (db *DB) AddAlias(ctx context.Context, actor Actor, versionID, alias string) error {
	if err := checkAlias(alias); err != nil {
		return err
	}
	return change(ctx, db, actor, func(tx *tx) error {
		v, _, err := tx.allowModelVersion(actor, versionID, rightUpdate)
		if err != nil || slices.Contains(v.Aliases, alias) {
			return err
		}
		if len(v.Aliases) >= MaxAliases {
			return Invalid("aliases", "A version can have up to %d aliases; remove one first.", MaxAliases)
		}
		return tx.setAlias(v, alias)
	})
}

// RemoveAlias takes an alias of a model away from the version that has it. It does
// nothing when none has it. Needs update.
func (db *DB) RemoveAlias(ctx context.Context, actor Actor, modelID, alias string) error {
	return change(ctx, db, actor, func(tx *tx) error {
		if _, err := tx.allowModel(actor, modelID, rightUpdate); err != nil {
			return err
		}
		_, err := tx.Exec(`DELETE FROM model_alias WHERE model_id = ? AND alias = ?`, modelID, alias)
		return err
	})
}
