package tensorboard

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"tracker/store/transfer"
)

// file is an event file.
type file struct {
	path  string
	dir   string // relative to the root, with slashes; "." for the root
	size  int64
	base  uuid.UUID // follows from its name and first event
	first float64   // wall time of the first event
	about *about    // what the first events have, nil when that was not looked at

	compared map[*file]comparison
	copied   bool           // it was left out as a copy
	id       uuid.UUID      // a variant of base
	known    *transfer.File // nil when it was not imported before
	changed  bool           // the known bytes are not in it any more

	// For a Follower: whether it has not read all of the file, and what it found last.
	grown bool
	info  fs.FileInfo
}

// isEventFile reports whether a file is one of events by its name, as TensorBoard
// does.
func isEventFile(name string) bool { return strings.Contains(name, "tfevents") }

// identify sets the base of a file, which follows from its name and its first event:
// that has the time to the microsecond. So a folder may be moved.
func (f *file) identify() error {
	if f.base != uuid.Nil {
		return nil
	}
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	r := newRecords(in, 0, f.size)
	data, err := r.next()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	var e event
	if err := parseEvent(data, &e); err != nil {
		return err
	}
	f.first = e.wallTime
	f.base = transfer.ID("tensorboard", "file", filepath.Base(f.path), hex.EncodeToString(sum[:]))
	return nil
}

// about is what is in the first events of a file.
type about struct {
	empty   bool // nothing comes after the first event
	hparams bool
	tags    []string // up to two
}

// look reads the first events of a file.
func (f *file) look() *about {
	if f.about != nil {
		return f.about
	}
	f.about = &about{}
	in, err := os.Open(f.path)
	if err != nil {
		return f.about
	}
	defer in.Close()
	r := newRecords(in, 0, min(f.size, maxLook))
	var e event
	var v value
	for n := range 16 {
		data, err := r.next()
		if err != nil {
			f.about.empty = n < 2 && errors.Is(err, errHalf) && f.size <= maxLook
			break
		}
		if parseEvent(data, &e) != nil {
			continue
		}
		for _, message := range e.values {
			if parseValue(message, &v) != nil {
				continue
			}
			if string(v.plugin) == hparamsPlugin {
				f.about.hparams = true
			} else if tag := string(v.tag); len(f.about.tags) < 2 && !slices.Contains(f.about.tags, tag) {
				f.about.tags = append(f.about.tags, tag)
			}
		}
	}
	return f.about
}

// hparamsName is the name of a folder that add_hparams makes: a time in seconds.
var hparamsName = regexp.MustCompile(`^[0-9]{9,11}(\.[0-9]+)?$`)

// hparamsOf reports whether a file is one that add_hparams made.
func (f *file) hparamsOf() bool {
	return hparamsName.MatchString(filepath.Base(f.dir)) && f.look().hparams
}

// partOf returns how the only tag of a file is called in the run of the folder
// above, "" when the file was not made by add_scalars. That makes the folders
// loss_train and loss_valid, or loss/train and loss/valid, for the tag loss.
func (f *file) partOf(above string) string {
	rest := strings.TrimPrefix(f.dir, above+"/")
	if above == "." {
		rest = f.dir
	}
	tags := f.look().tags
	if len(tags) != 1 || f.about.hparams {
		return ""
	}
	for _, name := range []string{tags[0], strings.ReplaceAll(tags[0], "/", "_")} {
		for _, separator := range []string{"_", "/"} {
			if part, ok := strings.CutPrefix(rest, name+separator); ok && part != "" {
				return tags[0] + "/" + part
			}
		}
	}
	return ""
}
