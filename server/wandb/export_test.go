package wandb

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"

	"tracker/store/wandb"
)

// MaxParts is maxParts.
const MaxParts = maxParts

// Routes are the methods and paths of all routes.
func Routes() (all [][2]string) {
	for _, rt := range new(Server).routes() {
		all = append(all, [2]string{rt.method, rt.path})
	}
	return all
}

// Linked returns the page of a dashboard on a port for a link of a client.
func Linked(port string, r *http.Request) string {
	return (&Server{dashboardPort: port, taken: map[string]bool{"project": true}}).linked(r)
}

// Mutations are the names of all mutations.
func Mutations() []string {
	all := slices.Collect(maps.Keys(new(call).mutations()))
	return slices.DeleteFunc(all, func(name string) bool { return name == "__typename" })
}

// Queries are the names of all fields of a query.
func Queries() []string {
	all := slices.Collect(maps.Keys(new(call).queries()))
	return slices.DeleteFunc(all, func(name string) bool { return name == "__typename" })
}

// DecodeManifest is decodeManifest.
func DecodeManifest(r io.Reader, take func(int64) error) ([]wandb.Entry, error) {
	return decodeManifest(r, take)
}

// Pieces is what DecodeStream found.
type Pieces struct {
	Rows    int // of the history and of the system metrics
	Largest int // values of a piece that has several rows
}

// DecodeStream reads the body of a part of a stream.
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
