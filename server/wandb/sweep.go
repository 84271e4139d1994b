package wandb

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/wandb"
	"tracker/store/wandb/format"
)

const (
	maxPriorRuns = 1000 // maximum number of prior runs in a new sweep
	maxRunning   = 1000 // maximum number of running runs of an agent
)

var (
	errPriorRuns = domain.Invalid("priorRunsFilters", "A sweep can begin with at most %d runs, given by name.", maxPriorRuns)
	errStates    = domain.Invalid("runState", "The states of runs must be a JSON object.")
)

func (c *call) sweepMutations() object {
	return object{"upsertSweep": c.upsertSweep, "createAgent": c.createAgent, "agentHeartbeat": c.agentHeartbeat}
}

// upsertSweep creates or updates a sweep.
func (c *call) upsertSweep(a args) (any, error) {
	if scheduler := a.str("launchScheduler") + a.str("scheduler"); strings.Trim(scheduler, "{}nul ") != "" {
		return nil, domain.Invalid("scheduler", "Sweeps of W&B Launch are not supported; leave out the scheduler, and start agents with wandb agent.")
	}
	change := wandb.SweepChange{ID: a.str("id"), Project: a.str("projectName"), Config: a.text("config"), Name: a.text("displayName"), State: a.text("state")}
	if change.Project == "" {
		change.Project = defaultProject
	}
	if change.ID == "" {
		var err error
		change.NewID = newName()
		if change.Runs, err = priorRuns(a.str("priorRunsFilters")); err != nil {
			return nil, err
		}
	}
	s, err := c.db.Wandb.SaveSweep(c.ctx, c.actor, change)
	if err != nil {
		return nil, err
	}
	return object{"sweep": c.sweepObject(a.str("entityName"), change.Project, s), "configValidationWarnings": []string{}}, nil
}

// priorRuns returns the run names in a filter such as {"$or":[{"name":"a"}]}.
func priorRuns(filter string) (names []string, err error) {
	if strings.Trim(filter, "{}nul ") == "" {
		return nil, nil
	}
	var in struct {
		Or []struct {
			Name string `json:"name"`
		} `json:"$or"`
	}
	if err := inner("priorRunsFilters", filter, &in, errPriorRuns); err != nil {
		return nil, err
	}
	if len(in.Or) > maxPriorRuns {
		return nil, errPriorRuns
	}
	for _, run := range in.Or {
		names = append(names, run.Name)
	}
	return names, nil
}

func (c *call) createAgent(a args) (any, error) {
	name := newName()
	id, err := c.db.Wandb.CreateAgent(c.ctx, c.actor, a.str("sweep"), name)
	return object{"agent": object{"__typename": "Agent", "id": id, "name": id, "host": orNull(a.str("host")), "state": "RUNNING"}}, err
}

// commandText returns an agent command in the protocol's format.
func commandText(cmd wandb.Command) (string, error) {
	out := []format.Member{{Key: "type", Value: format.Quote(cmd.Type)}, {Key: "run_id", Value: format.Quote(cmd.Run)}}
	if cmd.Type != "run" {
		return format.Object(out), nil
	}
	settings, err := format.Members(cmd.Settings)
	if err != nil {
		return "", err
	}
	for i, m := range settings {
		settings[i].Value = format.Object([]format.Member{{Key: "value", Value: m.Value}})
	}
	out = append(out, format.Member{Key: "args", Value: format.Object(settings)})
	if cmd.Program != "" {
		out = append(out, format.Member{Key: "program", Value: format.Quote(cmd.Program)})
	}
	return format.Object(out), nil
}

// agentHeartbeat handles an agent's heartbeat and returns the agent's next commands.
func (c *call) agentHeartbeat(a args) (any, error) {
	states := map[string]any{}
	if text := a.str("runState"); text != "" {
		if err := inner("runState", text, &states, errStates); err != nil {
			return nil, err
		}
		if len(states) > maxRunning {
			return nil, domain.Invalid("runState", "An agent can have at most %d runs at once.", maxRunning)
		}
	}
	name := newName()
	all, err := c.db.Wandb.Heartbeat(c.ctx, c.actor, a.str("id"), name, slices.Sorted(maps.Keys(states)))
	if err != nil {
		return nil, err
	}
	commands := make([]string, len(all))
	for i, one := range all {
		if commands[i], err = commandText(one); err != nil {
			return nil, err
		}
	}
	return object{"agent": object{"__typename": "Agent", "id": a.str("id")}, "commands": "[" + strings.Join(commands, ",") + "]"}, nil
}

// projectSweeps adds the sweep fields to a project object.
func (c *call) projectSweeps(o object, entity string, p projects.Project) {
	all := func() (list []wandb.Sweep, err error) {
		err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
			list, err = v.Wandb.Sweeps(p.ID, "")
			return err
		})
		return list, err
	}
	o["totalSweeps"] = func(args) (any, error) {
		list, err := all()
		return len(list), err
	}
	o["sweeps"] = func(args) (any, error) {
		list, err := all()
		nodes := make([]object, len(list))
		for i, s := range list {
			nodes[i] = c.sweepObject(entity, p.Name, s)
		}
		return connection(nodes), err
	}
	o["sweep"] = func(a args) (any, error) {
		s, err := c.db.Wandb.Sweep(c.ctx, c.actor, a.str("sweepName"))
		if isNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		e, err := c.db.Projects.Experiment(c.ctx, c.actor, s.ExperimentID)
		if err != nil || e.ProjectID != p.ID {
			return nil, err
		}
		return c.sweepObject(entity, p.Name, s), nil
	}
}

func (c *call) sweepObject(entity, project string, s wandb.Sweep) object {
	if entity == "" {
		entity = c.user.Username
	}
	selected := func(of wandb.SweepRuns) func(args) (any, error) {
		return func(args) (any, error) {
			nodes, err := c.runsOfSweep(entity, project, s, of)
			if err != nil {
				return nil, err
			}
			return connection(nodes), nil
		}
	}
	o := object{
		"__typename": "Sweep", "id": s.ID, "name": s.ID, "displayName": orNull(s.Name), "method": string(s.Config.Method), "state": string(s.State),
		"description": orNull(s.Config.Description), "config": s.Text, "createdAt": isoTime(s.CreatedDate), "updatedAt": isoTime(s.UpdatedDate),
		"heartbeatAt": isoTime(s.UpdatedDate), "runCount": s.Given, "runCountExpected": s.Config.Size(), "earlyStopJobRunning": false,
		"project": object{"__typename": "Project", "id": project, "name": project, "entityName": entity, "entity": object{"__typename": "Entity", "id": entity, "name": entity}},
		"agents": func(args) (any, error) {
			all, err := c.db.Wandb.Agents(c.ctx, c.actor, s.ID)
			nodes := make([]object, len(all))
			for i, agent := range all {
				nodes[i] = c.agentObject(entity, project, s, agent)
			}
			return connection(nodes), err
		},
		"agent": func(a args) (any, error) {
			all, err := c.db.Wandb.Agents(c.ctx, c.actor, s.ID)
			for _, agent := range all {
				if agent.ID == a.str("agentName") {
					return c.agentObject(entity, project, s, agent), nil
				}
			}
			return nil, err
		},
		"bestLoss": func(args) (any, error) {
			best, err := c.db.Wandb.SweepBest(c.ctx, c.actor, s)
			if err != nil || best == nil {
				return nil, err
			}
			return best.Value, nil
		},
		"runs":      selected(wandb.SweepRuns{}),
		"priorRuns": selected(wandb.SweepRuns{Prior: true}),
	}
	if !s.Config.Bounded() {
		o["runCountExpected"] = nil
	}
	return o
}

// agentObject returns an agent with all fields that clients query.
func (c *call) agentObject(entity, project string, s wandb.Sweep, a wandb.Agent) object {
	state := "FINISHED"
	if a.Active {
		state = "RUNNING"
	}
	return object{
		"__typename": "Agent", "id": a.ID, "name": a.ID, "host": a.Host, "state": state, "totalRuns": a.Runs,
		"createdAt": isoTime(a.CreatedDate), "heartbeatAt": isoTime(a.LastSeen),
		"runs": func(args) (any, error) {
			nodes, err := c.runsOfSweep(entity, project, s, wandb.SweepRuns{Agent: a.ID})
			return connection(nodes), err
		},
	}
}

// runsOfSweep returns the selected runs of a sweep, oldest first, at most one page.
func (c *call) runsOfSweep(entity, project string, s wandb.Sweep, of wandb.SweepRuns) (nodes []object, err error) {
	projectID, nums, err := c.db.Wandb.SweepRunNums(c.ctx, c.actor, s.ID, of)
	if err != nil {
		return nil, err
	}
	size := 0
	err = c.db.Wandb.EachRecord(c.ctx, c.actor, projectID, nums, func(r *wandb.Record) error {
		n := bytesOf(r)
		if size += n; size > maxPage && len(nodes) > 0 {
			return errPageFull
		}
		node := c.runObject(entity, project, r)
		state := stateOf(r, c.s.auth.Now())
		node["running"], node["failed"] = state == "running", state == "failed" || state == "crashed"
		node["shouldStop"] = node["stopped"]
		nodes = append(nodes, node)
		return domain.Take(c.ctx, int64(n))
	})
	if errors.Is(err, errPageFull) {
		err = nil
	}
	return nodes, err
}
