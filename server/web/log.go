package web

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Info holds facts about a request for the log. Handlers set them while they serve the request.
type Info struct {
	RequestID string
	Route     string // path template of the route; "" if no route matches
	User      string // username of the account; "" if unknown
	body      *pacedBody
	begun     time.Time // start of an event stream, whose duration is not measured
	Err       error     // cause of a server error
}

type infoKey struct{}

// InfoOf returns the Info of a request. It returns an empty Info if Log did not handle the
// request.
func InfoOf(r *http.Request) *Info {
	if i, ok := r.Context().Value(infoKey{}).(*Info); ok {
		return i
	}
	return &Info{}
}

// Observer is a function that Log calls after every request.
type Observer func(method, route string, status int, took time.Duration)

// Log returns a handler that logs requests to next with their paths, but without bodies, headers and
// query strings, which can contain credentials. Each
// request has an id: the caller's X-Request-Id if it is valid, otherwise a new id. If next panics
// before it has sent anything, the handler calls onPanic; if it panics later, the handler closes
// the connection.
func Log(next http.Handler, log *slog.Logger, observe Observer, onPanic http.HandlerFunc) http.Handler {
	var prefix [6]byte
	rand.Read(prefix[:]) // never fails
	var count atomic.Uint64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		info := &Info{RequestID: r.Header.Get("X-Request-Id")}
		if !soundID(info.RequestID) {
			info.RequestID = fmt.Sprintf("%s-%d", hex.EncodeToString(prefix[:]), count.Add(1))
		}
		w.Header().Set("X-Request-Id", info.RequestID)
		sw := &statusWriter{ResponseWriter: w}
		r = r.WithContext(context.WithValue(r.Context(), infoKey{}, info))
		whole := serve(next, sw, r, info, onPanic)
		took := time.Since(start)
		if !info.begun.IsZero() {
			took = info.begun.Sub(start)
		}
		if observe != nil {
			observe(r.Method, info.Route, sw.code(), took)
		}
		write(log, r, info, sw.code(), took)
		if !whole {
			panic(http.ErrAbortHandler) // closes the connection: an incomplete response must not look complete
		}
	})
}

// serve calls next and reports whether the response is complete.
func serve(next http.Handler, w *statusWriter, r *http.Request, info *Info, onPanic http.HandlerFunc) (whole bool) {
	defer func() {
		p := recover()
		if p == nil || p == http.ErrAbortHandler {
			return
		}
		info.Err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		if w.status == 0 {
			onPanic(w, r)
			whole = true
		}
	}()
	next.ServeHTTP(w, r)
	return true
}

func write(log *slog.Logger, r *http.Request, info *Info, status int, took time.Duration) {
	level := slog.LevelInfo
	if status >= 500 {
		level = slog.LevelError
	}
	if !log.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method),
		slog.String("route", info.Route),
		slog.String("path", Clip(r.URL.EscapedPath())),
		slog.Int("status", status),
		slog.Duration("took", took),
		slog.String("user", info.User),
		slog.String("request_id", info.RequestID),
	}
	if info.Err != nil {
		attrs = append(attrs, slog.Any("error", info.Err))
	}
	log.LogAttrs(r.Context(), level, "request", attrs...)
}

func soundID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// statusWriter records the status of the response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap returns the wrapped writer for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) code() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}
