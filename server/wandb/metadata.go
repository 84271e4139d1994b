package wandb

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"tracker/store/json"
	"tracker/store/wandb"
)

const (
	// metadataName is the name of the file in which clients describe their machine and code.
	metadataName = "wandb-metadata.json"
	maxMetadata  = 1 << 20 // in bytes; a larger file is stored but not decoded
)

// metadata holds the used fields of the file metadataName.
type metadata struct {
	Python  string   `json:"python"`
	Program string   `json:"program"`
	Args    []string `json:"args"`
	Host    string   `json:"host"`
	Git     struct {
		Remote string `json:"remote"`
		Commit string `json:"commit"`
	} `json:"git"`
}

// writeMetadata stores a run's metadata file. It also copies the metadata to the run's
// snapshot.
func (c *call) writeMetadata(id, name string, body io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(body, maxMetadata))
	if err != nil {
		return err
	}
	if err := c.put(id, name, "application/json", io.MultiReader(bytes.NewReader(text), body)); err != nil {
		return err
	}
	var m metadata
	if json.Unmarshal(text, &m, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)) == nil {
		err = c.db.Wandb.SetSnapshot(c.ctx, c.actor, id, wandb.Snapshot{GitSHA: m.Git.Commit, GitRemote: m.Git.Remote,
			Entrypoint: m.Program, Command: strings.TrimSpace(m.Program + " " + strings.Join(m.Args, " ")), Hostname: m.Host, Runtime: m.Python})
	}
	if err == nil {
		c.w.WriteHeader(http.StatusOK)
	}
	return err
}
