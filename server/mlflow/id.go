package mlflow

import (
	"strings"

	"github.com/google/uuid"
)

// The protocol uses the ids of the store's records. As in MLflow, run ids have no dashes.
// Clients send defaultExperimentID if the user has not selected an experiment. This id stands
// for the project's experiment "Default".
const (
	defaultExperimentID   = "0"
	defaultExperimentName = "Default"
)

// compact returns a record id without its dashes.
func compact(id string) string { return strings.ReplaceAll(id, "-", "") }

// expand returns a record id with dashes. If id is not a valid id, expand returns id unchanged.
func expand(id string) string {
	if len(id) != 32 && len(id) != 36 {
		return id
	}
	u, err := uuid.Parse(id)
	if err != nil {
		return id
	}
	return u.String()
}

// artifactScheme is the URI scheme for artifacts on the tracking server. Clients send artifacts
// with this scheme to the address that they use for the tracking server.
const artifactScheme = "mlflow-artifacts:/"

// runArtifacts returns the URI of a run's artifacts.
func runArtifacts(experimentID, runID string) string {
	return artifactScheme + experimentID + "/" + compact(runID) + "/artifacts"
}
