package wandb

import (
	"context"

	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/sqlite"
)

// Agent describes an agent to which a sweep has assigned runs.
type Agent struct {
	ID          string
	Host        string      // "" if no run of the agent has reported the host
	Active      bool        // whether at least one assigned run has not ended
	Runs        int         // number of runs currently assigned to the agent
	CreatedDate scalar.Time // time of the first assignment
	LastSeen    scalar.Time // last time when a run of the agent was seen
}

// Agents returns at most maxAgents agents of a sweep, sorted by their first run. It omits
// agents without a run. The actor needs the right to read.
func (db *DB) Agents(ctx context.Context, actor domain.Actor, sweepID string) ([]Agent, error) {
	return domain.Read(ctx, db.base, func(tx *domain.Tx) ([]Agent, error) {
		s, err := allowSweep(tx, actor, sweepID, domain.RightRead)
		if err != nil {
			return nil, err
		}
		var all []Agent
		rows, err := tx.Rows(`SELECT
				wandb_trial.agent,
				coalesce(max(run.host), ''),
				max(wandb_trial.state <> 'DONE'),
				count(*),
				min(wandb_trial.given_date),
				max(coalesce(run.last_seen, wandb_trial.given_date))
			FROM wandb_trial
			LEFT JOIN (SELECT wandb_run.name, wandb_run.about ->> 'host' AS host, iteration.last_seen
				FROM iteration
				JOIN experiment ON experiment.id = iteration.experiment_id
				JOIN wandb_run ON wandb_run.iteration_num = iteration.num
				WHERE experiment.project_id = ?1 AND wandb_run.about ->> 'sweep' = ?2) AS run
				ON run.name = wandb_trial.name
			WHERE wandb_trial.sweep_num = ?3 AND wandb_trial.agent <> ''
			GROUP BY wandb_trial.agent
			ORDER BY min(wandb_trial.number) LIMIT ?4`, s.projectID, s.ID, s.Num, maxAgents)
		err = sqlite.Each(rows, err, func() error {
			var a Agent
			if err := rows.Scan(&a.ID, &a.Host, &a.Active, &a.Runs, &a.CreatedDate, &a.LastSeen); err != nil {
				return err
			}
			all = append(all, a)
			return nil
		})
		return all, err
	})
}

// maxAgents is the maximum number of agents that Agents returns.
const maxAgents = 1000
