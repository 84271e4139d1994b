package domain

// ResourceFrom is the FROM clause of artifact queries. It omits artifacts that are being
// deleted.
const ResourceFrom = `FROM resource
	JOIN blob ON blob.id = resource.blob_id AND blob.deleting = 0
	LEFT JOIN iteration ON iteration.num = resource.iteration_num `

// ResourceState holds the fields of an artifact that permission checks and other rules use.
type ResourceState struct {
	Num          int64
	ExperimentID string
	IterationNum *int64
	BlobID       int64
	Experiment   ExperimentState
}

// AllowArtifact checks that actor has the wanted right in the artifact's project. It returns
// NOT_FOUND if the artifact does not exist or is being deleted.
func (tx *Tx) AllowArtifact(actor Actor, id string, want Right) (r ResourceState, err error) {
	err = tx.Row(`SELECT
			resource.num,
			resource.experiment_id,
			resource.iteration_num,
			resource.blob_id
		`+ResourceFrom+`WHERE resource.id = ? AND `+tx.Found("resource", "iteration"), id).
		Scan(&r.Num, &r.ExperimentID, &r.IterationNum, &r.BlobID)
	if err != nil {
		return r, OrNotFound(err, Artifact)
	}
	if r.IterationNum == nil || actor.Scope.Only != ScopeLog {
		r.Experiment, err = tx.AllowExperiment(actor, r.ExperimentID, want)
		return r, err
	}
	r.Experiment, err = tx.AllowExperiment(actor, r.ExperimentID, RightFind)
	if err == nil {
		err = tx.AllowRun(actor, r.Experiment.ProjectID, *r.IterationNum, want)
	}
	return r, err
}
