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

// A run can be a copy of another run. In this case, the two runs have event files with the same
// names, and each file of the copy is equal to a file of the other run or to its beginning. Only
// the longer of the two runs is imported. Files that share only their name and first event belong
// to different runs, for example if a run was copied and the training of both continued.

// comparison is the result of comparing the beginnings of two files.
type comparison struct {
	same   int64 // number of leading bytes known to be equal
	differ bool  // whether the files differ after the equal bytes
}

const (
	// maxCompared is the maximum number of comparisons stored per file. maxAlike is the maximum
	// number of runs or files with which one run or file is compared.
	maxCompared = 1000
	maxAlike    = 200
	// compareSize is the number of bytes to compare at once.
	compareSize = 64 << 10
)

// begins reports whether other begins with the content of f. It returns false if one of the files
// is not readable.
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

// extend compares two files up to the end of f. It compares the last bytes of f first, because
// files with equal beginnings most likely differ at the end.
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

// different reports whether two files differ between two offsets.
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

// withoutCopies returns all runs except copies. Each file of a copy is recorded as a loss.
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

// lose records that f is omitted because it is a copy of the file at the path original.
func (f *file) lose(im *transfer.Import, original string) {
	f.copied = true
	im.Read(f.size)
	im.Lose(f.path, "It is a copy of %s, or of the beginning of that file, and is left out.", original)
}

// withoutCopies removes files from r that are copies of other files in r.
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

// identity returns a string that is equal for runs whose files have the same bases.
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

// begins reports whether each file of other begins with the content of the corresponding file of r.
// Both runs must have the same identity.
func (r *run) begins(other *run) bool {
	for i, f := range r.files {
		if !f.begins(other.files[i]) {
			return false
		}
	}
	return true
}
