package tensorboard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"tracker/store/transfer"
)

// The base of a file is an id derived from the file's name and first event. Several files can have
// the same base without being copies of each other. The id of each of these files is a different
// variant of the base. The first variant is the base itself. The other variants are derived from
// the base and a number. The stored state of a file contains a position and a checksum of the bytes
// before the position. The import recognizes the file by this checksum.

const (
	// tailSize is the number of bytes in the checksum.
	tailSize = 4096
	// maxVariants is the maximum number of variants of a base.
	maxVariants = 1000
)

// variantID returns the id of variant n of a base. Variant 0 is the base itself.
func variantID(base uuid.UUID, n int) uuid.UUID {
	if n == 0 {
		return base
	}
	return transfer.ID("tensorboard", "variant", base.String(), strconv.Itoa(n))
}

// tail returns a checksum of the last tailSize bytes before position.
func tail(in io.ReaderAt, position int64) (string, error) {
	b := make([]byte, min(position, tailSize))
	if _, err := in.ReadAt(b, position-int64(len(b))); err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16]), nil
}

// continues reports whether f still contains the bytes that an earlier import read. known is
// the state stored by that import.
func (f *file) continues(known *transfer.File) bool {
	if f.size < known.Position {
		return false
	}
	if known.Fingerprint == known.ID.String() || known.Position <= 0 { // stored by an old version of tracker, without a checksum
		return true
	}
	in, err := os.Open(f.path)
	if err != nil {
		return false
	}
	defer in.Close()
	sum, err := tail(in, known.Position)
	return err == nil && sum == known.Fingerprint
}

// recognize sets the ids and the stored states of the files in wanted. all holds all runs of the
// source. A file that is a shorter copy of an imported file is recorded as a loss.
func recognize(ctx context.Context, im *transfer.Import, all, wanted []*run) error {
	variants := map[uuid.UUID][]*transfer.File{}
	for _, r := range wanted {
		for _, f := range r.files {
			variants[f.base] = nil
		}
	}
	if err := readVariants(ctx, im, variants); err != nil {
		return err
	}
	files := map[uuid.UUID][]*file{}
	for _, r := range all {
		for _, f := range r.files {
			if _, ok := variants[f.base]; ok {
				f.id, f.known, f.changed = uuid.Nil, nil, false
				f.grown, f.copied = f.grown || f.copied, false
				if len(files[f.base]) < maxVariants {
					files[f.base] = append(files[f.base], f)
				}
			}
		}
	}
	for base, some := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		match(variants[base], some)
	}
	count := map[uuid.UUID]int{}
	for _, r := range wanted { // numbers new files consecutively, in the order in which they are written to the store
		r.settle(im, variants, files)
		for _, f := range r.files {
			if f.known == nil && !f.copied {
				f.number(im, len(variants[f.base]), count)
			}
		}
		r.files = slices.DeleteFunc(r.files, func(f *file) bool { return f.id == uuid.Nil })
	}
	return nil
}

// readVariants reads the stored states of all variants of the bases in variants.
func readVariants(ctx context.Context, im *transfer.Import, variants map[uuid.UUID][]*transfer.File) error {
	next := make([]uuid.UUID, 0, len(variants))
	for base := range variants {
		next = append(next, base)
	}
	for n, more := 0, 1; len(next) > 0 && n < maxVariants; n, more = n+more, 2*more {
		var ids []uuid.UUID
		for _, base := range next {
			for i := range more {
				ids = append(ids, variantID(base, n+i))
			}
		}
		known, err := im.Files(ctx, ids)
		if err != nil {
			return err
		}
		all := next
		next = nil
		for i, base := range all {
			found := 0
			for _, id := range ids[i*more : (i+1)*more] {
				if k, ok := known[id]; ok {
					variants[base] = append(variants[base], &k)
					found++
				}
			}
			if found == more {
				next = append(next, base)
			}
		}
	}
	return nil
}

// match assigns each stored state to the file that it describes. It prefers the file at the
// stored path. For other files, it assigns the states with the highest positions first.
func match(variants []*transfer.File, files []*file) {
	taken := map[*transfer.File]bool{}
	take := func(f *file, v *transfer.File) {
		if f.known == nil && !taken[v] && f.continues(v) {
			f.id, f.known, taken[v] = v.ID, v, true
		}
	}
	byPath := map[string]*file{}
	for _, f := range files {
		byPath[f.path] = f
	}
	for _, v := range slices.Backward(variants) { // if several variants have this path, the latest variant is preferred
		if f := byPath[v.Path]; f != nil {
			take(f, v)
		}
	}
	type pair struct {
		f *file
		v *transfer.File
	}
	var pairs []pair
	for _, v := range variants {
		for _, f := range files {
			if f.known == nil && !taken[v] {
				pairs = append(pairs, pair{f, v})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.v.Position, a.v.Position), cmp.Compare(alike(b.f.path, b.v.Path), alike(a.f.path, a.v.Path)))
	})
	for _, p := range pairs {
		take(p.f, p.v)
	}
	for _, v := range variants { // the file at the stored path was rewritten
		if f := byPath[v.Path]; f != nil && f.known == nil && !taken[v] {
			f.id, f.known, f.changed = v.ID, v, true
		}
	}
}

// alike returns the number of trailing elements that two paths have in common.
func alike(a, b string) (n int) {
	for a != "" && b != "" && filepath.Base(a) == filepath.Base(b) && n < maxDepth {
		a, b = strings.TrimSuffix(filepath.Dir(a), string(filepath.Separator)), strings.TrimSuffix(filepath.Dir(b), string(filepath.Separator))
		n++
	}
	return n
}

// settle checks whether r is a copy of an imported run in another folder with the same file names.
// If r is a copy and none of its files is shorter than the original file, r continues the imported
// run. If r is a copy with shorter files, they are recorded as losses. If r is not a copy, settle
// drops the stored states that belong to files in the other folder.
func (r *run) settle(im *transfer.Import, variants map[uuid.UUID][]*transfer.File, files map[uuid.UUID][]*file) {
	of := make([]string, len(r.files)) // path of the copied file for each file of the run; "" if none
	own, longer, shorter, there := false, false, false, ""
	for i, f := range r.files {
		switch {
		case f.known == nil:
			of[i] = f.earlierOf(variants[f.base], files[f.base])
			longer, shorter = longer || of[i] == "", shorter || of[i] != ""
		case f.known.Path == f.path || !exists(f.known.Path):
			own = true
		default:
			of[i], longer = f.known.Path, longer || f.size > f.known.Size
		}
		there = cmp.Or(there, of[i])
	}
	isCopy := there != "" && !own && !(longer && shorter) && sameNames(filepath.Dir(there), filepath.Dir(r.files[0].path))
	if isCopy && !shorter {
		return
	}
	for i, f := range r.files {
		if of[i] == "" {
			continue
		}
		f.id, f.known = uuid.Nil, nil
		if isCopy || own && !exists(of[i]) {
			f.lose(im, of[i])
		}
	}
}

// sameNames reports whether two folders contain event files with the same names. It returns true if
// folder a does not exist, because the names in a missing folder are unknown.
func sameNames(a, b string) bool {
	return !exists(a) || slices.Equal(eventNames(a), eventNames(b))
}

// eventNames returns the names of the event files directly in a folder.
func eventNames(folder string) (names []string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if isEventFile(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// number sets f.id to the next unused variant of f.base. known is the number of stored
// variants. count holds the number of variants assigned by this import. If all variants are
// used, number records a loss.
func (f *file) number(im *transfer.Import, known int, count map[uuid.UUID]int) {
	n := known + count[f.base]
	if n >= maxVariants {
		im.Lose(f.path, "More than %d files have the same name and first event as this file; it is left out.", maxVariants)
		return
	}
	f.id = variantID(f.base, n)
	count[f.base]++
}

// earlierOf checks whether f is a shorter, earlier copy of an imported file. It returns the path of
// that file, or "" if there is none. If the imported file no longer exists, any shorter file counts
// as a copy.
func (f *file) earlierOf(variants []*transfer.File, files []*file) string {
	for _, v := range variants {
		if f.size >= v.Position || slices.ContainsFunc(files, func(o *file) bool { return o.known == v }) {
			continue
		}
		info, err := os.Stat(v.Path)
		if err != nil || f.begins(&file{path: v.Path, size: info.Size()}) {
			return v.Path
		}
	}
	return ""
}
