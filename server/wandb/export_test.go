package wandb

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"

	"tracker/server/web"

	"tracker/store/collections"
	"tracker/store/wandb"
)

// MaxParts exports maxParts.
const MaxParts = maxParts

// Routes returns the methods and paths of all routes.
func Routes() (all [][2]string) {
	for _, rt := range new(Server).routes() {
		all = append(all, [2]string{rt.method, rt.path})
	}
	return all
}

// Linked returns the address of the dashboard page for a link that a client printed. port is the
// dashboard's port.
func Linked(port string, r *http.Request) string {
	return (&Server{site: web.Site{DashboardPort: port}, taken: map[string]bool{"project": true}}).linked(r)
}

// Mutations returns the names of all mutations.
func Mutations() []string {
	all := slices.Collect(maps.Keys(new(call).mutations()))
	return slices.DeleteFunc(all, func(name string) bool { return name == "__typename" })
}

// Queries returns the names of all fields of a query.
func Queries() []string {
	all := slices.Collect(maps.Keys(new(call).queries()))
	return slices.DeleteFunc(all, func(name string) bool { return name == "__typename" })
}

// DecodeManifest exports decodeManifest.
func DecodeManifest(r io.Reader, take func(int64) error) ([]collections.Entry, error) {
	return decodeManifest(r, take)
}

// Pieces holds the results of DecodeStream.
type Pieces struct {
	Rows    int // number of rows in the history and the system metrics
	Largest int // maximum number of values in a piece with several rows
}

// DecodeStream reads the body of a part of a stream. most is the maximum
// number of values in a piece with several rows.
func DecodeStream(body []byte, most int) (p Pieces, err error) {
	in := newStreamReader(bytes.NewReader(body), most, func(int64) error { return nil }, nil)
	in.write = func(piece wandb.Stream) error {
		n := len(piece.Rows) + len(piece.Events)
		if p.Rows += n; n > 1 {
			p.Largest = max(p.Largest, in.values)
		}
		return nil
	}
	return p, in.read()
}
