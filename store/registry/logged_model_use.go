package registry

import (
	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// LoggedModelRole is the role of a logged model in an iteration.
type LoggedModelRole string

// These are the roles of logged models.
const (
	InputModel  LoggedModelRole = "input"  // the iteration read the model
	OutputModel LoggedModelRole = "output" // the iteration created the model
)

// LoggedModelUse records that an iteration read or created a logged model.
type LoggedModelUse struct {
	Role    LoggedModelRole
	ModelID string
	Step    scalar.Step // step of the iteration, for an output model
	// ModelName is the name of the model. ExperimentID is the experiment of the model.
	// AddModelUses ignores both fields.
	ModelName    string
	ExperimentID string
}

// MaxUses is the maximum number of uses that one call can add. It is also the maximum number of
// uses of each role that are returned for an iteration.
const MaxUses = 1000

// AddModelUses records which logged models an iteration read or created. The models must belong
// to the project of the iteration. It ignores uses that exist with the same step.
func AddModelUses(tx *domain.Tx, it domain.IterationState, uses []LoggedModelUse) error {
	for _, u := range uses {
		num, err := loggedModelOf(tx, it.ProjectID, u.ModelID)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO logged_model_use (iteration_num, role, logged_model_num, step) VALUES (?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, it.Num, u.Role, num, u.Step)
		if err != nil {
			return err
		}
	}
	return nil
}

// ModelUsesOf calls fn for each logged model that one of the given iterations read or created. The
// calls are sorted by iteration, then by the creation order of the models. For each iteration and
// role, there are at most MaxUses calls.
func ModelUsesOf(tx *domain.Tx, nums []int64, fn func(num int64, u LoggedModelUse)) error {
	rows, err := tx.Rows(`SELECT iteration_num, role, id, name, experiment_id, step FROM (
			SELECT
				logged_model_use.iteration_num,
				logged_model_use.role,
				logged_model.num,
				logged_model.id,
				logged_model.name,
				logged_model.experiment_id,
				logged_model_use.step,
				row_number() OVER (PARTITION BY logged_model_use.iteration_num, role ORDER BY logged_model.num, step) AS place
			FROM logged_model_use
			JOIN logged_model ON logged_model.num = logged_model_use.logged_model_num
			JOIN experiment ON experiment.id = logged_model.experiment_id AND experiment.deleted_date IS NULL
			WHERE logged_model_use.iteration_num IN (SELECT value FROM json_each(?)))
		WHERE place <= ?
		ORDER BY iteration_num, num, step`, sqlite.JSON(nums), MaxUses)
	return sqlite.Each(rows, err, func() error {
		var num int64
		var u LoggedModelUse
		if err := rows.Scan(&num, &u.Role, &u.ModelID, &u.ModelName, &u.ExperimentID, &u.Step); err != nil {
			return err
		}
		fn(num, u)
		return nil
	})
}

// LoggedModelUses returns the logged models that an iteration read or created. The actor needs
// the right to read.
func (v *View) LoggedModelUses(iterationID string) (uses []LoggedModelUse, err error) {
	it, err := v.tx.AllowIteration(v.tx.Actor, iterationID, domain.RightRead)
	if err != nil {
		return nil, err
	}
	err = ModelUsesOf(v.tx, []int64{it.Num}, func(_ int64, u LoggedModelUse) { uses = append(uses, u) })
	return uses, err
}
