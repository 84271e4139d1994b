package wandb

import (
	"io"
	"net/http"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/wandb"
)

// maxStream is the maximum size of a stream part in bytes. Clients send at most 10 MiB of lines
// in a part, or a single longer line.
const maxStream = 64 << 20

// streamAnswer is the response to a stream part. Stopped is true if the client must stop its
// script.
type streamAnswer struct {
	ExitCode *int           `json:"exitcode"`
	Limits   map[string]any `json:"limits"`
	Stopped  bool           `json:"stopped"`
}

// fileStream reads a part of a run's stream. It decodes and stores the part while it arrives, so
// that only a small batch is in memory. After an error, the client sends the whole part again,
// which has no effect on data that is already stored.
//
// After a status from 400 to 422, a client sends no more data of the run. fileStream therefore does
// not use these statuses if the run was changed or deleted during the request, or if a line is
// invalid.
func (c *call) fileStream() error {
	answer := streamAnswer{Limits: map[string]any{}}
	id, err := c.iteration()
	if isNotFound(err) && c.inTrash() {
		answer.Stopped = true
		web.WriteJSON(c.w, c.r, http.StatusOK, answer)
		return nil
	}
	if err == nil {
		err = c.db.Runs.AllowPoints(c.ctx, c.actor, id) // check the permission before reading the body
	}
	if err != nil {
		return err
	}
	body, err := web.OpenBody(c.w, c.r, web.Limits{Size: maxStream, Share: c.share})
	if err != nil {
		return err
	}
	in := newStreamReader(body, pieceValues, c.share.Grow, func(piece wandb.Stream) (err error) {
		answer.Stopped, err = c.db.Wandb.Append(c.ctx, c.actor, id, piece)
		c.share.Release()
		return err
	})
	if in.writer, err = c.writer("X-WANDB-ASYNC-CLIENT-ID"); err != nil {
		return err
	}
	if err := in.read(); err != nil {
		err = body.Error(err)
		_, _ = io.Copy(io.Discard, body) // otherwise a client that is still sending might miss the response
		return err
	}
	web.WriteJSON(c.w, c.r, http.StatusOK, answer)
	return nil
}

// writer returns the id of the client if the run is in shared mode, in which several clients write
// to it, and "" otherwise. header is the name of the header that contains the id.
func (c *call) writer(header string) (string, error) {
	if c.r.Header.Get("X-WANDB-USE-ASYNC-FILESTREAM") != "true" {
		return "", nil
	}
	id := c.r.Header.Get(header)
	if len(id) > wandb.MaxWriter {
		return "", domain.Invalid("client", "The id of a writer can have at most %d bytes.", wandb.MaxWriter)
	}
	return id, nil
}

// iteration returns the iteration id of the run that the path names.
func (c *call) iteration() (id string, err error) {
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		id, err = v.Wandb.Iteration(c.vars["project"], c.vars["run"])
		return err
	})
	return id, err
}

// inTrash reports whether the run that the path names is in the trash.
func (c *call) inTrash() bool {
	ctx := domain.WithTrash(c.ctx)
	found := false
	_ = c.db.View(ctx, c.actor, func(v *store.View) (err error) { // found stays false after an error
		found, err = v.Wandb.Deleted(c.vars["project"], c.vars["run"])
		return err
	})
	return found
}
