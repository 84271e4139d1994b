package tensorboard

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"

	"tracker/store/transfer"
)

// A copy of a run is a folder with files of the same names. Each file is equal to the file of the
// run or a beginning of it. The longer run is imported. Files that share only their name and first
// event belong to different runs: a run was copied and trained further.

// comparison holds the result of comparing the beginnings of two files.
type comparison struct {
	same   int64 // bytes that are equal
	differ bool  // the files differ after these bytes
}

const (
	// maxCompared bounds the comparisons that a file stores, maxAlike the number of different runs
	// or files that one is compared with.
	maxCompared = 1000
	maxAlike    = 200
	// compareSize is the number of bytes that are compared at once.
	compareSize = 64 << 10
)

// begins reports whether f is equal to another file or a beginning of it. It reports false if one
// of them can't be read.
func (f *file) begins(other *file) bool {
	if f.size > other.size {
		return false
	}
	c := f.compared[other]
	if c.differ || c.same >= f.size {
		return !c.differ
	}
	if len(f.compared) >= maxCompared || f.compared == nil {
		f.compared = map[*file]comparison{}
	}
	err := c.extend(f, other)
	f.compared[other] = c
	return err == nil && !c.differ
}

// extend compares two files up to the end of f. It starts with the last bytes, where files that
// begin alike are most likely to differ.
func (c *comparison) extend(f, other *file) error {
	a, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := os.Open(other.path)
	if err != nil {
		return err
	}
	defer b.Close()
	end := max(c.same, f.size-tailSize)
	if c.differ, err = different(a, b, end, f.size); c.differ || err != nil {
		return err
	}
	if c.differ, err = different(a, b, c.same, end); err == nil && !c.differ {
		c.same = f.size
	}
	return err
}

// different reports whether two files differ between two positions.
func different(a, b io.ReaderAt, from, to int64) (bool, error) {
	var x, y [compareSize]byte
	for from < to {
		n := int(min(to-from, compareSize))
		if _, err := a.ReadAt(x[:n], from); err != nil {
			return false, err
		}
		if _, err := b.ReadAt(y[:n], from); err != nil {
			return false, err
		}
		if !bytes.Equal(x[:n], y[:n]) {
			return true, nil
		}
		from += int64(n)
	}
	return false, nil
}

// withoutCopies returns the runs that are not copies of others. A copy is a loss.
func withoutCopies(im *transfer.Import, all []*run) []*run {
	byFiles := map[string][]*run{}
	for _, r := range all {
		r.withoutCopies(im)
		byFiles[r.identity()] = append(byFiles[r.identity()], r)
	}
	copies := map[*run]bool{}
	for _, alike := range byFiles {
		slices.SortStableFunc(alike, func(a, b *run) int { return cmp.Compare(b.size(), a.size()) })
		kept := alike[:0:0]
		for _, r := range alike {
			i := slices.IndexFunc(kept[:min(len(kept), maxAlike)], r.begins)
			if i < 0 {
				kept = append(kept, r)
				continue
			}
			copies[r] = true
			for n, f := range r.files {
				f.lose(im, kept[i].files[n].path)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(r *run) bool { return copies[r] })
}

// lose records a loss for a file that is a copy of another one.
func (f *file) lose(im *transfer.Import, of string) {
	f.copied = true
	im.Read(f.size)
	im.Lose(f.path, "It is a copy of %s, or of its beginning, and left out.", of)
}

// withoutCopies removes the files of a run that are copies of its other files.
func (r *run) withoutCopies(im *transfer.Import) {
	byBase := map[uuid.UUID][]*file{}
	for _, f := range r.files {
		byBase[f.base] = append(byBase[f.base], f)
	}
	if len(byBase) == len(r.files) {
		return
	}
	r.files = slices.DeleteFunc(slices.Clone(r.files), func(f *file) bool {
		alike := byBase[f.base]
		of := slices.IndexFunc(alike[:min(len(alike), maxAlike)], func(o *file) bool { return o != f && f.begins(o) })
		if of < 0 {
			return false
		}
		f.lose(im, alike[of].path)
		byBase[f.base] = slices.DeleteFunc(alike, func(o *file) bool { return o == f })
		return true
	})
}

// identity returns a text that is equal for runs with the same files.
func (r *run) identity() string {
	var all strings.Builder
	for _, f := range r.files {
		all.Write(f.base[:])
	}
	return all.String()
}

func (r *run) size() (n int64) {
	for _, f := range r.files {
		n += f.size
	}
	return n
}

// begins reports whether each file of r is a beginning of the same file of another run. Both must
// have the same identity.
func (r *run) begins(other *run) bool {
	for i, f := range r.files {
		if !f.begins(other.files[i]) {
			return false
		}
	}
	return true
}
