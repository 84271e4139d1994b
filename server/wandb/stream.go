package wandb

import (
	"io"
	"net/http"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/wandb"
)

// maxStream is the size limit of a part of a stream, in bytes. Clients send 10 MiB of
// lines, and a longer line by itself.
const maxStream = 64 << 20

// streamAnswer is the answer to a part of a stream. Stopped is set if the client must stop
// its script.
type streamAnswer struct {
	ExitCode *int           `json:"exitcode"`
	Limits   map[string]any `json:"limits"`
	Stopped  bool           `json:"stopped"`
}

// fileStream reads a part of the stream of a run. It decodes and writes the part while it
// arrives, so that little of it is in memory. A part can be written any number of times:
// after an error in the middle the client sends it again.
//
// After a status from 400 to 422 a client sends nothing more of its run. So this status is
// not used if the run was changed or deleted during the request, or if a line can't be
// read.
func (c *call) fileStream() error {
	answer := streamAnswer{Limits: map[string]any{}}
	id, err := c.iteration()
	if isNotFound(err) && c.inTrash() {
		answer.Stopped = true
		web.WriteJSON(c.w, c.r, http.StatusOK, answer)
		return nil
	}
	if err == nil {
		err = c.db.Runs.AllowPoints(c.ctx, c.actor, id) // before anything is read
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
	if err := in.read(); err != nil {
		err = body.Error(err)
		_, _ = io.Copy(io.Discard, body) // otherwise a client that still sends might miss the answer
		return err
	}
	web.WriteJSON(c.w, c.r, http.StatusOK, answer)
	return nil
}

// iteration returns the id of the iteration for the run in the path.
func (c *call) iteration() (id string, err error) {
	err = c.db.View(c.ctx, c.actor, func(v *store.View) error {
		id, err = v.Wandb.Iteration(c.vars["project"], c.vars["run"])
		return err
	})
	return id, err
}

// inTrash reports whether the run in the path is in the trash.
func (c *call) inTrash() bool {
	ctx := domain.WithTrash(c.ctx)
	found := false
	_ = c.db.View(ctx, c.actor, func(v *store.View) (err error) { // after an error found is false
		found, err = v.Wandb.Deleted(c.vars["project"], c.vars["run"])
		return err
	})
	return found
}
