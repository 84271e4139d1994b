package blobtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"tracker/blob"
)

func staged(t *testing.T, s blob.Store) {
	for _, n := range []int{0, 1000, 6 << 20} {
		data := Bytes(6, n)
		first := Stage(t, s, data)
		_, err := s.Open(t.Context(), Of(data))
		wantError(t, err, blob.ErrNotFound)
		wantOK(t, first.Discard())
		wantOK(t, first.Discard())
		if first.Commit(t.Context()) == nil {
			t.Error("Commit after Discard returns no error")
		}
		WantExactly(t, s)

		second := Stage(t, s, data)
		wantOK(t, second.Commit(t.Context()))
		wantOK(t, second.Commit(t.Context()))
		wantOK(t, second.Discard())
		WantExactly(t, s, data)

		third := Stage(t, s, data)
		wantOK(t, third.Discard())
		WantExactly(t, s, data)
		wantOK(t, s.Delete(t.Context(), Of(data).Hash))
	}
}

// notHashes holds strings that are not blob hashes.
var notHashes = []string{"", "a", "ab", "..", "/", "staging", strings.Repeat("a", 63), strings.Repeat("a", 65),
	strings.Repeat("A", 64), strings.Repeat("g", 64), "../" + strings.Repeat("a", 61), strings.Repeat("a", 63) + "/",
	strings.Repeat("a", 63) + "\x00", strings.Repeat("ä", 32), strings.Repeat("a", 1000)}

func notFound(t *testing.T, s blob.Store) {
	data := Bytes(7, 1000)
	Put(t, s, data)
	for _, hash := range append(notHashes, strings.Repeat("a", 64), Of(Bytes(8, 1000)).Hash) {
		for _, size := range []int64{0, 1000} {
			r, err := s.Open(t.Context(), blob.Blob{Hash: hash, Size: size})
			if r != nil {
				t.Errorf("opened %q", hash)
			}
			wantError(t, err, blob.ErrNotFound)
		}
		wantOK(t, s.Delete(t.Context(), hash))
	}
	WantExactly(t, s, data)
}

func wrongSize(t *testing.T, s blob.Store) {
	for _, n := range []int{0, 1000, 1 << 20} {
		b := Put(t, s, Bytes(9, n))
		for _, size := range []int64{b.Size + 1, b.Size - 1, 2 * b.Size, -1} {
			if size == b.Size {
				continue
			}
			r, err := s.Open(t.Context(), blob.Blob{Hash: b.Hash, Size: size})
			if r != nil {
				t.Errorf("opened with %d bytes instead of %d", size, b.Size)
			}
			wantError(t, err, blob.ErrDamaged)
		}
	}
}

func deletes(t *testing.T, s blob.Store) {
	a, b := Bytes(10, 1000), Bytes(11, 2<<20)
	Put(t, s, a)
	Put(t, s, b)
	for range 2 {
		wantOK(t, s.Delete(t.Context(), Of(b).Hash))
		_, err := s.Open(t.Context(), Of(b))
		wantError(t, err, blob.ErrNotFound)
		WantExactly(t, s, a)
	}
	Put(t, s, b)
	WantExactly(t, s, a, b)
}

// walk stores more blobs than one page of a listing holds and lists them.
func walk(t *testing.T, s blob.Store) {
	WantExactly(t, s)
	const many = 1100
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < many; i += 8 {
				staged, err := s.Stage(t.Context(), strings.NewReader(fmt.Sprint(i)))
				if err == nil {
					err = staged.Commit(t.Context())
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	found := Blobs(t, s)
	for i := range many {
		if b := Of([]byte(fmt.Sprint(i))); found[b.Hash].Blob != b {
			t.Errorf("Walk does not find blob %d", i)
		}
	}
	if len(found) != many {
		t.Errorf("Walk finds %d of %d blobs", len(found), many)
	}

	enough := errors.New("enough")
	calls := 0
	err := s.Walk(t.Context(), func(f blob.Info) error {
		if calls++; calls == 3 {
			return enough
		}
		return nil
	})
	if err != enough || calls != 3 {
		t.Errorf("Walk ends after %d calls with %v", calls, err)
	}
}

// walkStaged lists and removes bytes that were neither committed nor discarded.
func walkStaged(t *testing.T, s blob.Store) {
	kept := Bytes(12, 1000)
	Put(t, s, kept)
	Stage(t, s, Bytes(13, 6<<20)) // staged and abandoned, as after a crash
	wantOK(t, s.WalkStaged(t.Context(), time.Now().Add(-time.Hour), func(l blob.StagedInfo) error {
		t.Errorf("%v is young", l)
		return nil
	}))
	for _, l := range AllStaged(t, s) {
		if age := time.Since(l.Modified); age < -time.Hour || age > time.Hour {
			t.Errorf("staged bytes that are new are %v old", age)
		}
		wantOK(t, s.DeleteStaged(t.Context(), l.Name))
		wantOK(t, s.DeleteStaged(t.Context(), l.Name))
	}
	for _, name := range append(notHashes, s.URI(Of(kept).Hash), Of(kept).Hash) {
		_ = s.DeleteStaged(t.Context(), name) // can return an error, but must not remove bytes
	}
	WantExactly(t, s, kept)
}

func uri(t *testing.T, s blob.Store) {
	seen := map[string]bool{}
	for i := range 3 {
		hash := Of(Bytes(uint64(i), 10)).Hash
		uri := s.URI(hash)
		if uri != "" && (seen[uri] || !strings.HasSuffix(uri, hash[:2]+"/"+hash)) {
			t.Errorf("URI of %s is %q", hash, uri)
		}
		seen[uri] = true
	}
	for _, hash := range notHashes {
		if uri := s.URI(hash); uri != "" {
			t.Errorf("URI of %q is %q", hash, uri)
		}
	}
}

// interleaved commits, discards, deletes and reads blobs at random and compares the results
// with a map.
func interleaved(t *testing.T, s blob.Store) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	model := map[int]bool{}
	data := func(i int) []byte { return Bytes(uint64(i), i*i*i*700) }
	open := map[int][]blob.Staged{}
	for range 150 {
		i := random.IntN(14)
		switch random.IntN(5) {
		case 0:
			open[i] = append(open[i], Stage(t, s, data(i)))
		case 1:
			for _, staged := range open[i] {
				wantOK(t, staged.Commit(t.Context()))
				model[i] = true
			}
			delete(open, i)
		case 2:
			for _, staged := range open[i] {
				wantOK(t, staged.Discard())
			}
			delete(open, i)
		case 3:
			wantOK(t, s.Delete(t.Context(), Of(data(i)).Hash))
			delete(model, i)
		case 4:
			if model[i] {
				WantBytes(t, s, data(i))
			} else if _, err := s.Open(t.Context(), Of(data(i))); !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("blob %d is missing, and Open returns %v", i, err)
			}
		}
	}
	for _, all := range open {
		for _, staged := range all {
			wantOK(t, staged.Discard())
		}
	}
	var want [][]byte
	for i := range model {
		want = append(want, data(i))
	}
	WantExactly(t, s, want...)
}
