// Package blobtest holds the tests that every blob.Store must pass.
package blobtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tracker/blob"
)

// Run runs the tests. For each test, open returns a new, empty store.
func Run(t *testing.T, open func(t *testing.T) blob.Store) {
	for name, test := range map[string]func(*testing.T, blob.Store){
		"Sizes":       sizes,
		"Reads":       reads,
		"Readers":     readers,
		"SameBytes":   sameBytes,
		"Concurrent":  concurrent,
		"FailedRead":  failedRead,
		"Cancelled":   cancelled,
		"Staged":      staged,
		"NotFound":    notFound,
		"WrongSize":   wrongSize,
		"Delete":      deletes,
		"Walk":        walk,
		"WalkStaged":  walkStaged,
		"URI":         uri,
		"Interleaved": interleaved,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// Bytes returns n pseudorandom bytes. The same seed gives the same bytes.
func Bytes(seed uint64, n int) []byte {
	var key [32]byte
	key[0], key[1], key[2] = byte(seed), byte(seed>>8), byte(seed>>16)
	p := make([]byte, n)
	rand.NewChaCha8(key).Read(p)
	return p
}

// Of returns the hash and size of data.
func Of(data []byte) blob.Blob {
	sum := sha256.Sum256(data)
	return blob.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data))}
}

// Stage stages data and checks the hash and size that the store returns.
func Stage(t testing.TB, s blob.Store, data []byte) blob.Staged {
	t.Helper()
	staged, err := s.Stage(t.Context(), bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := staged.Blob(), Of(data); got != want {
		t.Fatalf("staged %v, want %v", got, want)
	}
	return staged
}

// Put stages and commits data.
func Put(t testing.TB, s blob.Store, data []byte) blob.Blob {
	t.Helper()
	staged := Stage(t, s, data)
	wantOK(t, staged.Commit(t.Context()))
	return staged.Blob()
}

// Blobs returns the blobs that Walk reports, keyed by hash.
func Blobs(t testing.TB, s blob.Store) map[string]blob.Info {
	t.Helper()
	found := map[string]blob.Info{}
	wantOK(t, s.Walk(t.Context(), func(f blob.Info) error {
		if _, twice := found[f.Hash]; twice {
			t.Errorf("Walk reports %s twice", f.Hash)
		}
		found[f.Hash] = f
		return nil
	}))
	return found
}

// AllStaged returns all staged bytes that WalkStaged reports.
func AllStaged(t testing.TB, s blob.Store) []blob.StagedInfo {
	t.Helper()
	var found []blob.StagedInfo
	wantOK(t, s.WalkStaged(t.Context(), time.Now().Add(time.Hour), func(l blob.StagedInfo) error {
		found = append(found, l)
		return nil
	}))
	return found
}

// WantExactly checks that the store holds the given blobs, undamaged, and no other blobs.
func WantExactly(t testing.TB, s blob.Store, blobs ...[]byte) {
	t.Helper()
	found := Blobs(t, s)
	for _, data := range blobs {
		b := Of(data)
		if f, ok := found[b.Hash]; !ok || f.Blob != b {
			t.Errorf("Walk finds %v, want %v", f.Blob, b)
		}
		delete(found, b.Hash)
		WantBytes(t, s, data)
	}
	if len(found) > 0 {
		t.Errorf("%d unexpected blobs: %v", len(found), slices.Collect(maps.Keys(found)))
	}
	if left := AllStaged(t, s); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// WantBytes checks that the store returns data for its hash.
func WantBytes(t testing.TB, s blob.Store, data []byte) {
	t.Helper()
	r, err := s.Open(t.Context(), Of(data))
	if err != nil {
		t.Error(err)
		return
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("read %d bytes (%v) that differ from the %d written bytes", len(got), err, len(data))
	}
	wantOK(t, r.Close())
}

func wantOK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
