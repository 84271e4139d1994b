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

// file describes an event file.
type file struct {
	path  string
	dir   string // path of the folder relative to the root, with slashes; "." for the root
	size  int64
	base  uuid.UUID // id derived from the file's name and first event
	first float64   // wall time of the first event, in seconds
	about *about    // content of the first events; nil if not yet read

	compared map[*file]comparison
	copied   bool           // whether the file is omitted as a copy
	id       uuid.UUID      // id of the transfer.File; a variant of base
	known    *transfer.File // stored state; nil if the file was not imported
	changed  bool           // whether the imported bytes have changed

	// The fields grown and info are used by a Follower. grown reports whether the file has unread
	// data. info is the file's last known fs.FileInfo.
	grown bool
	info  fs.FileInfo
}

// isEventFile reports whether name is the name of an event file. TensorBoard uses the same
// rule.
func isEventFile(name string) bool { return strings.Contains(name, "tfevents") }

// identify sets f.base, which is derived from the name and the first event of the file. The
// first event contains a time in microseconds. The base does not depend on the folder, because
// users can move folders.
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

// about describes the first events of an event file.
type about struct {
	empty   bool // whether the file has at most one event
	hparams bool
	tags    []string // the first tags, at most two
}

// look reads the first events of the file. It returns the stored result if the events were read
// before.
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

// hparamsName matches the name of a folder that add_hparams created. The name is a time in
// seconds.
var hparamsName = regexp.MustCompile(`^[0-9]{9,11}(\.[0-9]+)?$`)

// hparamsOf reports whether add_hparams wrote the file.
func (f *file) hparamsOf() bool {
	return hparamsName.MatchString(filepath.Base(f.dir)) && f.look().hparams
}

// partOf returns the metric name for the only tag of a file written by add_scalars. If add_scalars
// did not write the file, partOf returns "". above is the run's folder. For example, for the tag
// loss, add_scalars creates the folders loss_train and loss_valid, or loss/train and loss/valid.
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
