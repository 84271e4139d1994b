package mlflow

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"tracker/store/transfer"
)

// maxFiles bounds the parameters, tags and metrics of a run in a file store.
const maxFiles = 1_000_000

// places finds the folders of artifacts of a store, and counts those not found.
type places struct {
	folders []string // the folder of the options, the one that holds the store, and the store
	found   int      // runs and models whose folder was found
	// served and gone count the runs and models whose artifacts were not found: on MLflow's server,
	// and in folders that are not on this machine. They may have no artifacts, since MLflow creates
	// a folder with the first file.
	served, gone missing
}

// missing counts runs and models.
type missing struct {
	n   int
	uri string // of the first one
}

func (m *missing) add(uri string) {
	if m.n++; m.n == 1 {
		m.uri = uri
	}
}

// newPlaces returns the places for a store. folder is the file store, "" for a database.
func newPlaces(im *transfer.Import, base, folder string) *places {
	p := &places{}
	for _, f := range []string{im.ArtifactFolder, base, folder} {
		if f != "" {
			p.folders = append(p.folders, f)
		}
	}
	return p
}

// folder returns the folder of the artifacts of a run or a logged model, or "" if there is none.
// The URI names the folder in which they were written; after a move they are beside the store. part
// is the part of the path that is the id, and hex the 32 digits in it. A folder elsewhere must have
// the id in its path, so that a store can't name any folder of this machine.
func (p *places) folder(uri, part, hex string) (folder, problem string) {
	if uri == "" {
		return "", ""
	}
	at, served := uri, false
	if u, err := url.Parse(uri); err == nil && len(u.Scheme) > 1 {
		switch u.Scheme {
		case "file":
			at = u.Path
		case "mlflow-artifacts":
			at, served = path.Join("/mlartifacts", u.Path), true
		default:
			if found := p.beside(path.Join("/", u.Path), part, hex); found != "" {
				return found, ""
			}
			return "", fmt.Sprintf("Its artifacts are at %s, which is not a folder of this machine; copy them beside the store and import again, "+
				"or name the folder of a copy with --mlflow-artifacts.", uri)
		}
	}
	at = path.Clean(strings.ReplaceAll(at, `\`, "/"))
	if _, err := uuid.Parse(hex); err != nil || len(hex) != 32 || !slices.Contains(strings.Split(at, "/"), part) {
		return "", fmt.Sprintf("Its artifacts would be at %s, which does not have the id of a run or model; they are left out.", uri)
	}
	if found := p.beside(at, part, hex); found != "" {
		return found, ""
	}
	if !served && isFolder(filepath.FromSlash(at)) {
		p.found++
		return filepath.FromSlash(at), ""
	}
	if served {
		p.served.add(uri)
	} else if !p.madeHere(at, part) {
		p.gone.add(uri)
	}
	return "", ""
}

// beside returns the folder in one of the places that matches the last elements of the path at,
// starting with part or an element above it.
func (p *places) beside(at, part, hex string) string {
	parts := strings.Split(at, "/")
	last := slices.Index(parts, part)
	if _, err := uuid.Parse(hex); err != nil || len(hex) != 32 {
		return ""
	}
	for _, base := range p.folders {
		for i := range last + 1 {
			beside := filepath.FromSlash(path.Join(parts[i:]...))
			if filepath.IsLocal(beside) && isFolder(filepath.Join(base, beside)) {
				p.found++
				return filepath.Join(base, beside)
			}
		}
	}
	return ""
}

// madeHere reports whether the store's artifacts are on this machine, or would be if there were
// any: in the folder /data/mlruns for the path /data/mlruns/EXPERIMENT/ID/artifacts.
func (p *places) madeHere(at, part string) bool {
	for _, f := range p.folders {
		if !path.IsAbs(at) || strings.HasPrefix(at, filepath.ToSlash(f)+"/") {
			return true
		}
	}
	parts := strings.Split(at, "/")
	id := slices.Index(parts, part)
	for n := id; n > max(id-2, 1); n-- {
		if isFolder(filepath.FromSlash(strings.Join(parts[:n], "/"))) {
			return true
		}
	}
	return false
}

// lose reports the artifacts that were not found, if none of the store were found.
func (p *places) lose(im *transfer.Import, store string) {
	if p.found > 0 || im.NoArtifacts {
		return
	}
	if m := p.served; m.n > 0 {
		im.Lose(store, "MLflow's server keeps the artifacts of %s, if they have any, as %s; none was found. "+
			"Name the folder of the server's --artifacts-destination with --mlflow-artifacts, or copy it beside the store as mlartifacts, and import again.",
			runsAndModels(m.n), m.uri)
	}
	if m := p.gone; m.n > 0 {
		im.Lose(store, "The artifacts of %s, if they have any, were at %s, which is not on this machine. "+
			"Copy the folder beside the store, or name it with --mlflow-artifacts, and import again.", runsAndModels(m.n), m.uri)
	}
}

func runsAndModels(n int) string {
	if n == 1 {
		return "1 run or logged model"
	}
	return fmt.Sprintf("%d runs and logged models", n)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// importArtifacts stores the files of a run.
func (r *run) importArtifacts(ctx context.Context, im *transfer.Import, w *transfer.RunWriter, p *places) error {
	if im.NoArtifacts {
		return nil
	}
	folder, problem := p.folder(r.artifacts, r.id, r.id)
	if problem != "" {
		im.Lose(r.path, "%s", problem)
	}
	if folder == "" {
		return nil
	}
	return w.Folder(ctx, folder)
}
