package mlflow_test

import (
	"net/http"
	"testing"
	"time"

	"tracker/ui/uitest"
)

// Every write through the MLflow protocol is announced to the event streams of the pages that it
// changes.
func TestEveryWriteIsAnnounced(t *testing.T) {
	t.Parallel()
	b := start(t)
	all := b.samples(func(*http.Request) {})
	open := uitest.Pages(t, b.db, func() time.Time { return time.UnixMilli(b.now.Load()) }, "")
	for _, s := range all {
		t.Run(s.method+" "+s.path+" "+s.body, func(t *testing.T) {
			b.TB = t
			b.send(s.method, s.path, s.body).wants(200)
			open.In(t).Check(s.path == api+"experiments/update")
		})
	}
}
