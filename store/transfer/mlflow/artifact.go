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

// maxFiles is the maximum number of parameter, tag or metric files of a run in a file store.
const maxFiles = 1_000_000

// places finds the artifact folders of a store's runs and logged models, and counts the missing
// folders.
type places struct {
	folders []string // in order: Options.ArtifactFolder, the parent folder of the store, the store
	found   int      // number of runs and logged models whose folder was found
	// served counts runs and logged models whose artifacts should be on an MLflow server but were
	// not found. gone counts missing folders on other machines. A missing folder can also mean that
	// a run has no artifacts, because MLflow creates the folder with the first file.
	served, gone missing
}

// missing counts runs and logged models whose artifacts were not found.
type missing struct {
	n   int
	uri string // artifact URI of the first run or logged model counted
}

func (m *missing) add(uri string) {
	if m.n++; m.n == 1 {
		m.uri = uri
	}
}

// newPlaces returns the places in which to look for a store's artifacts. folder is the path of
// a file store, or "" for a database.
func newPlaces(im *transfer.Import, base, folder string) *places {
	p := &places{}
	for _, f := range []string{im.ArtifactFolder, base, folder} {
		if f != "" {
			p.folders = append(p.folders, f)
		}
	}
	return p
}

// folder returns the artifact folder of a run or a logged model, or "" if it is not found. uri is
// the location to which the artifacts were written. folder first looks near the store, because the
// artifacts might have been moved together with the store. part is the path element that contains
// the id, and hex is the 32 digits of the id. The path must contain the id, so that a malicious
// store can't name arbitrary folders of this machine. If the artifacts can't be imported, problem
// is a message with the reason.
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
			return "", fmt.Sprintf("Its artifacts are at %s, which is not a folder on this machine; copy them next to the store and import again, "+
				"or name the folder of the copy with --mlflow-artifacts.", uri)
		}
	}
	at = path.Clean(strings.ReplaceAll(at, `\`, "/"))
	if _, err := uuid.Parse(hex); err != nil || len(hex) != 32 || !slices.Contains(strings.Split(at, "/"), part) {
		return "", fmt.Sprintf("Its artifacts are left out: their location %s does not contain the id of a run or model.", uri)
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

// beside looks for an artifact folder in p.folders. The folder must match the trailing elements of
// the path at, including part. beside returns "" if no folder matches.
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

// madeHere reports whether the path of an artifact folder suggests that the store was written on
// this machine. For example, /data/mlruns must exist for the path
// /data/mlruns/EXPERIMENT/ID/artifacts.
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

// lose records missing artifact folders as losses. It records nothing if at least one artifact
// folder was found.
func (p *places) lose(im *transfer.Import, store string) {
	if p.found > 0 || im.NoArtifacts {
		return
	}
	if m := p.served; m.n > 0 {
		im.Lose(store, "MLflow's server stores the artifacts of %s, if they have any, at addresses such as %s. No artifact folder was found. "+
			"Name the folder of the server's --artifacts-destination with --mlflow-artifacts, or copy it next to the store as mlartifacts, and import again.",
			runsAndModels(m.n), m.uri)
	}
	if m := p.gone; m.n > 0 {
		im.Lose(store, "The artifacts of %s, if they have any, were at %s, which is not on this machine. "+
			"Copy the folder next to the store, or name it with --mlflow-artifacts, and import again.", runsAndModels(m.n), m.uri)
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

// importArtifacts stores the files in the artifact folder of a run.
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
