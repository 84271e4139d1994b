package ui

import (
	"net/http"

	"github.com/gorilla/mux"

	"tracker/client"
)

// pythonClient serves the Python client to pip. The request needs no token, because users
// install the client before they can sign in with it.
func (s *site) pythonClient(w http.ResponseWriter, r *http.Request) error {
	found, err := client.ServePython(w, r, s.BasePath+"/client/python", mux.Vars(r)["rest"])
	if err == nil && !found {
		return errNoPage
	}
	return err
}
