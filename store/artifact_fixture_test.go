package store_test

import (
	"io"
	"strings"
	"testing"

	"tracker/store"
)

// keep makes an artifact of these bytes and returns its id.
func (b *bed) keep(t testing.TB, experiment string, n store.NewArtifact, content string) string {
	t.Helper()
	r := must(b.Receive(ctx, strings.NewReader(content), ""))(t)
	defer r.Discard()
	return must(b.CreateArtifact(ctx, store.System, experiment, n, r))(t).ID
}

// content reads the bytes of an artifact to their end.
func content(t testing.TB, db *store.DB, id string) string {
	t.Helper()
	_, r, err := db.OpenArtifact(ctx, store.System, id)
	wantOK(t, err)
	defer r.Close()
	return string(must(io.ReadAll(r))(t))
}
