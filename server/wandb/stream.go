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
// lines, and a line that is longer by itself.
const maxStream = 64 << 20

// streamAnswer holds whether the script of the client is to stop.
type streamAnswer struct {
	ExitCode *int           `json:"exitcode"`
	Limits   map[string]any `json:"limits"`
	Stopped  bool           `json:"stopped"`
}

// fileStream takes a part of the stream of a run. It is decoded and written while it
// arrives, so that little of it is held. A part can be written any number of times: after
// a failure in the middle the client sends it again.
//
// A client that gets a status from 400 to 422 sends nothing more of its run. So a run that
// was changed or deleted meanwhile, and a line that can't be read, are not answered with
// such a status.
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
		_, _ = io.Copy(io.Discard, body) // a client that still sends may miss the answer
		return err
	}
	web.WriteJSON(c.w, c.r, http.StatusOK, answer)
	return nil
}

// iteration returns the id of the iteration that the path names.
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
	_ = c.db.View(ctx, c.actor, func(v *store.View) (err error) { // then there is no such run
		found, err = v.Wandb.Deleted(c.vars["project"], c.vars["run"])
		return err
	})
	return found
}
