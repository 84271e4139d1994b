package registry

import (
	"fmt"
	"strconv"
	"strings"

	"tracker/store/domain"
)

// maxVersionsNamed is the maximum number of versions in the error message of a rejected deletion.
const maxVersionsNamed = 5

// ArtifactSource begins the source of a model version that was made from an artifact version. The
// id of the artifact version follows.
const ArtifactSource = "artifacts:/"

// LinkedID returns the SQL expression for the id of the artifact version from which a model version
// was made. table is the name of the table of model versions in the query. The expression is valid
// only if the source begins with ArtifactSource.
func LinkedID(table string) string {
	return `substr(` + table + `.source, ` + strconv.Itoa(len(ArtifactSource)+1) + `)`
}

// FromArtifacts returns the SQL condition that a model version was made from an artifact version
// for which the condition where holds.
func FromArtifacts(where string) string {
	return `model_version.source IN (SELECT '` + ArtifactSource + `' || artifact_version.id FROM artifact_version WHERE ` + where + `)`
}

// FromIteration returns the SQL condition that a model version refers to an iteration, to one of the
// iteration's artifacts, or to an artifact version that the iteration logged. num is the SQL
// expression for the row number of the iteration. The condition contains it three times.
func FromIteration(num string) string {
	return `model_version.iteration_num = ` + num + `
		OR model_version.resource_num IN (SELECT num FROM resource WHERE iteration_num = ` + num + `)
		OR ` + FromArtifacts(`iteration_num = `+num)
}

// FromExperiment is the SQL condition that a model version refers to an iteration, an artifact or an
// artifact version of an experiment. Its three parameters are the id of the experiment.
var FromExperiment = `model_version.iteration_num IN (SELECT num FROM iteration WHERE experiment_id = ?)
	OR model_version.resource_num IN (SELECT num FROM resource WHERE experiment_id = ?)
	OR ` + FromArtifacts(`experiment_id = ?`)

// RefuseIfArtifactVersioned returns CONFLICT if a model version refers to the artifact with the
// row number num.
func RefuseIfArtifactVersioned(tx *domain.Tx, num int64) error {
	return RefuseIfVersioned(tx, `model_version.resource_num = ?`,
		"It is used by %s; delete those versions or give them another file first.", num)
}

// RefuseIfIterationVersioned returns CONFLICT if a model version refers to the iteration with
// the row number num, to one of the iteration's artifacts, or to an artifact version that the
// iteration logged.
func RefuseIfIterationVersioned(tx *domain.Tx, num int64) error {
	return RefuseIfVersioned(tx, FromIteration(`?`),
		"It or one of its artifacts is used by %s; delete those versions first.", num, num, num)
}

// RefuseIfExperimentVersioned returns CONFLICT if a model version refers to an iteration or an
// artifact of the experiment.
func RefuseIfExperimentVersioned(tx *domain.Tx, id string) error {
	return RefuseIfVersioned(tx, FromExperiment,
		"The experiment is used by %s; delete those versions first.", id, id, id)
}

// RefuseIfProjectVersioned returns CONFLICT if a model version in another project refers to an
// iteration or artifact in the project. The project's own models do not count, because they are
// deleted with the project. Only versions that were made from artifact versions refer to another
// project.
func RefuseIfProjectVersioned(tx *domain.Tx, id string) error {
	return RefuseIfVersioned(tx, `model.project_id <> ? AND (
			model_version.iteration_num IN (
				SELECT num FROM iteration JOIN experiment ON experiment.id = experiment_id WHERE project_id = ?)
			OR model_version.resource_num IN (
				SELECT num FROM resource JOIN experiment ON experiment.id = experiment_id WHERE project_id = ?)
			OR `+FromArtifacts(`experiment_id IN (SELECT id FROM experiment WHERE project_id = ?)`)+`)`,
		"The project is used by %s in another project; delete those versions first.", id, id, id, id)
}

// RefuseIfVersioned returns CONFLICT if a version matches the SQL condition. It ignores
// versions in the trash. In message, %s stands for the list of matching versions.
func RefuseIfVersioned(tx *domain.Tx, condition, message string, args ...any) error {
	return RefuseIfAnyVersioned(tx, `model.deleted_date IS NULL AND model_version.deleted_date IS NULL AND (`+condition+`)`, message, args...)
}

// RefuseIfAnyVersioned returns CONFLICT if a version matches the SQL condition. In contrast to
// RefuseIfVersioned, it includes versions in the trash.
func RefuseIfAnyVersioned(tx *domain.Tx, condition, message string, args ...any) error {
	var used []struct {
		Name    string `db:"name"`
		Version int64  `db:"version"`
		Total   int    `db:"total"`
	}
	err := tx.Select(&used, `SELECT model.name, model_version.version, count(*) OVER () AS total
		FROM model_version
		JOIN model ON model.id = model_version.model_id
		WHERE `+condition+`
		ORDER BY model.name, model.id, model_version.version
		LIMIT ?`, append(args, maxVersionsNamed)...)
	if err != nil || len(used) == 0 {
		return err
	}
	more := used[0].Total - len(used)
	var models []string
	for rest := used; len(rest) > 0; {
		var numbers []string
		for len(numbers) < len(rest) && rest[len(numbers)].Name == rest[0].Name {
			numbers = append(numbers, strconv.FormatInt(rest[len(numbers)].Version, 10))
		}
		text := fmt.Sprintf("model %s, ", rest[0].Name)
		rest = rest[len(numbers):]
		if len(rest) == 0 && more > 0 {
			numbers = append(numbers, fmt.Sprintf("%d more", more))
		}
		models = append(models, text+versions(numbers))
	}
	return domain.Errorf(domain.CodeConflict, message, strings.Join(models, "; "))
}

// versions returns the given numbers as a phrase, such as "version 3" or "versions 3 and 4".
func versions(numbers []string) string {
	last := len(numbers) - 1
	if last == 0 {
		return "version " + numbers[0]
	}
	return "versions " + strings.Join(numbers[:last], ", ") + " and " + numbers[last]
}
