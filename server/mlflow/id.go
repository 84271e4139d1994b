package mlflow

import (
	"strings"

	"github.com/google/uuid"
)

// The protocol uses the ids of the records. The id of a run is written without
// dashes, as in MLflow. Clients use defaultExperimentID when no experiment is
// named: it stands for the experiment "Default" of the project.
const (
	defaultExperimentID   = "0"
	defaultExperimentName = "Default"
)

// compact returns the id of a record without dashes.
func compact(id string) string { return strings.ReplaceAll(id, "-", "") }

// expand returns an id with its dashes. It returns any other text unchanged; no
// record has it as its id.
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

// artifactScheme makes clients send artifacts to the server that they use, at any
// address.
const artifactScheme = "mlflow-artifacts:/"

// runArtifacts returns the address of the artifacts of a run.
func runArtifacts(experimentID, runID string) string {
	return artifactScheme + experimentID + "/" + compact(runID) + "/artifacts"
}
