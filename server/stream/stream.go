// Package stream tells a client what changes, as server-sent events. The API
// and the dashboard share it.
package stream

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"tracker/store"
)

const (
	// pause is the time between two looks for changes.
	pause = 500 * time.Millisecond
	// keepAlive is how often an idle stream is shown to be alive.
	keepAlive = 15 * time.Second
	// patience is how long a client may take to read an event before its
	// stream is cut; it can resume.
	patience = 10 * time.Second
)

// Serve answers with server-sent events until the client goes or ending is
// closed. changes returns what happened since a cursor, and the first call
// gets the one given. An event "change" has what happened since the one before
// it; "reset" says that more happened than is remembered. Its id is the next
// cursor. Nothing is kept for a client between two events, so one that is slow
// costs nothing. An error means that nothing was answered yet.
func Serve(w http.ResponseWriter, r *http.Request, ending <-chan struct{}, cursor string,
	changes func(context.Context, string) (store.Changes, error)) error {
	ctx := r.Context()
	found, err := changes(ctx, cursor)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	// From here on the answer has begun: an error ends the stream.
	if send(w, ": connected\nretry: 1000\nid: "+found.Cursor+"\n\n") != nil || sendChanges(w, found) != nil {
		return nil
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for quiet := time.Duration(0); ; quiet += pause {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		case <-ending:
			return nil
		}
		if found, err = changes(ctx, found.Cursor); err != nil {
			return nil // gone, or not allowed any more: reconnecting tells which
		}
		switch {
		case !found.Empty():
			err, quiet = sendChanges(w, found), 0
		case quiet >= keepAlive:
			err, quiet = send(w, ": alive\n\n"), 0
		}
		if err != nil {
			return nil
		}
	}
}

func sendChanges(w http.ResponseWriter, found store.Changes) error {
	if found.Empty() {
		return nil
	}
	event, data := "change", []byte("{}")
	if found.Reset {
		event = "reset"
	} else {
		var err error
		if data, err = json.Marshal(found); err != nil {
			return err
		}
	}
	return send(w, fmt.Sprintf("event: %s\nid: %s\ndata: %s\n\n", event, found.Cursor, data))
}

func send(w http.ResponseWriter, text string) error {
	rc := http.NewResponseController(w)
	if err := rc.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := w.Write([]byte(text)); err != nil {
		return err
	}
	return rc.Flush()
}
