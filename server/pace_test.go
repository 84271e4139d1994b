package server_test

import (
	"testing"

	"tracker/server/servertest"
)

// The server sets a deadline for reading a request body, even if the request has no token.
func TestBodiesHaveADeadline(t *testing.T) {
	a := start(t)
	for _, path := range []string{"/auth", "/project", "/graphql", "/api/2.0/mlflow/runs/create"} {
		servertest.WantDeadline(t, a.server.Config.Handler, path, `{}`)
	}
}
