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

// artifactFolder returns the folder of the artifacts of a run, "" when there is
// none. The URI names the folder in which they were written; after a move they are
// beside the store, below base. A folder elsewhere must have the id of the run in
// its path, so that a store can't name any folder of this machine.
func (r *run) artifactFolder(base string) (folder, problem string) {
	return artifactFolder(base, r.artifacts, r.id, r.id)
}

// artifactFolder is the same for a run or a logged model. part is the part of the path
// that is the id, and hex the 32 digits in it.
func artifactFolder(base, uri, part, hex string) (folder, problem string) {
	if uri == "" {
		return "", ""
	}
	at := uri
	if u, err := url.Parse(uri); err == nil && len(u.Scheme) > 1 {
		switch u.Scheme {
		case "file":
			at = u.Path
		case "mlflow-artifacts":
			at = path.Join("/mlartifacts", u.Path)
		default:
			return "", fmt.Sprintf("Its artifacts are at %s, which is not a folder of this machine; copy them beside the store and import again.", uri)
		}
	}
	at = strings.ReplaceAll(at, `\`, "/")
	parts := strings.Split(path.Clean(at), "/")
	last := slices.Index(parts, part)
	if _, err := uuid.Parse(hex); err != nil || len(hex) != 32 || last < 0 {
		return "", fmt.Sprintf("Its artifacts would be at %s, which does not have the id of a run or model; they are left out.", uri)
	}
	for i := range last + 1 {
		beside := filepath.FromSlash(path.Join(parts[i:]...))
		if filepath.IsLocal(beside) && isFolder(filepath.Join(base, beside)) {
			return filepath.Join(base, beside), ""
		}
	}
	if isFolder(filepath.FromSlash(at)) {
		return filepath.FromSlash(at), ""
	}
	return "", ""
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// importArtifacts stores the files of a run.
func (r *run) importArtifacts(ctx context.Context, im *transfer.Import, w *transfer.RunWriter, base string) error {
	if im.NoArtifacts {
		return nil
	}
	folder, problem := r.artifactFolder(base)
	if problem != "" {
		im.Lose(r.path, "%s", problem)
	}
	if folder == "" {
		return nil
	}
	return w.Folder(ctx, folder)
}
