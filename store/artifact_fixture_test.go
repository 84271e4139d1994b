package store_test

import (
	"io"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/files"
)

// keep creates an artifact with this content and returns its id.
func (b *bed) keep(t testing.TB, experiment string, n files.NewArtifact, content string) string {
	t.Helper()
	r := must(b.Files.Receive(ctx, strings.NewReader(content), ""))(t)
	defer r.Discard()
	return must(b.Files.CreateArtifact(ctx, domain.System, experiment, n, r))(t).ID
}

// content returns the content of an artifact.
func content(t testing.TB, db *store.DB, id string) string {
	t.Helper()
	_, r, err := db.Files.OpenArtifact(ctx, domain.System, id)
	wantOK(t, err)
	defer r.Close()
	return string(must(io.ReadAll(r))(t))
}
