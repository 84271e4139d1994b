package wandb

import (
	"io"
	"maps"
	"slices"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/json"
)

// Routes are the methods and paths of all routes.
func Routes() (all [][2]string) {
	for _, rt := range new(Server).routes() {
		all = append(all, [2]string{rt.method, rt.path})
	}
	return all
}

// Mutations are the names of all mutations.
func Mutations() []string {
	all := slices.Collect(maps.Keys(new(call).mutations()))
	return slices.DeleteFunc(all, func(name string) bool { return name == "__typename" })
}

// DecodeManifest is decodeManifest.
func DecodeManifest(r io.Reader, take func(int64) error) ([]store.WandbEntry, error) {
	return decodeManifest(r, take)
}

// Pieces is what DecodeStream found.
type Pieces struct {
	Sent, Lines int // lines in the body, and in the pieces
	Largest     int // values of a piece that has several lines
}

// DecodeStream reads the body of a part of a stream and all of its pieces.
func DecodeStream(body []byte, most int) (p Pieces, err error) {
	in := stream{body: body}
	if len(body) == 0 {
		return p, nil
	}
	if err := web.DecodeLenient(body, &in); err != nil {
		return p, err
	}
	for _, f := range in.Files {
		p.Sent += len(f.Content)
	}
	for _, piece := range in.pieces(most) {
		for name, f := range piece.Files {
			p.Lines += len(f.Content)
			if name == "wandb-summary.json" || name == "output.log" || len(f.Content) < 2 {
				continue
			}
			n := 0
			for _, at := range f.Content {
				n += json.Values([]byte(piece.line(at)))
			}
			p.Largest = max(p.Largest, n)
		}
		piece.read()
	}
	return p, nil
}
