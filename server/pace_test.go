package server_test

import (
	"testing"

	"tracker/server/servertest"
)

// Bodies that need no token have a deadline.
func TestBodiesHaveADeadline(t *testing.T) {
	a := start(t)
	for _, path := range []string{"/auth", "/project", "/graphql", "/api/2.0/mlflow/runs/create"} {
		servertest.WantDeadline(t, a.server.Config.Handler, path, `{}`)
	}
}
