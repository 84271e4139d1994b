package ui

import (
	"net/http"

	"github.com/gorilla/mux"

	"tracker/client"
)

// pythonClient serves the Python client to pip. It needs no token, because the client is installed
// before anybody can sign in with it.
func (s *site) pythonClient(w http.ResponseWriter, r *http.Request) error {
	found, err := client.ServePython(w, r, s.BasePath+"/client/python", mux.Vars(r)["rest"])
	if err == nil && !found {
		return errNoPage
	}
	return err
}
