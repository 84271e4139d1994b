package transfer

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// FolderSource is a Source that reports which files of its folder it reads.
type FolderSource interface {
	Source
	// Folder returns the imported folder, or "" if the source is a file.
	Folder() string
	// Reads reports whether the source handles the file at path. The source either reads the
	// file or reports it as a loss.
	Reads(path string) bool
}

// Unread counts the files of a folder that the source does not recognize.
type Unread struct {
	Files      int            `json:"files"`
	Extensions map[string]int `json:"extensions"` // number of files by extension; "" counts all other files
}

// maxExtensions is the maximum number of extensions counted separately. maxExtension is the
// maximum length of an extension counted separately, in bytes.
const (
	maxExtensions = 1000
	maxExtension  = 20
)

// CountUnread counts the files in the folder of src that src does not read. CountUnread ignores
// files and folders whose names begin with a dot. An unreadable folder is recorded as a loss.
func (im *Import) CountUnread(ctx context.Context, src Source) error {
	s, ok := src.(FolderSource)
	if !ok || s.Folder() == "" {
		return nil
	}
	u, n := Unread{Extensions: map[string]int{}}, 0
	err := filepath.WalkDir(s.Folder(), func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxFolderFiles {
			return fs.SkipAll
		}
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case err != nil:
			im.Lose(path, "It can't be read: %v.", err)
		case strings.HasPrefix(d.Name(), ".") && path != s.Folder():
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular() && !s.Reads(path):
			extension := strings.ToLower(filepath.Ext(path))
			if _, known := u.Extensions[extension]; !known && len(u.Extensions) >= maxExtensions || len(extension) > maxExtension {
				extension = ""
			}
			u.Files++
			u.Extensions[extension]++
		}
		return nil
	})
	if u.Files > 0 {
		im.Result.Unread = &u
	}
	return err
}

// String returns the most common extensions with their counts.
func (u *Unread) String() string {
	const shown = 5
	common := slices.SortedFunc(maps.Keys(u.Extensions), func(a, b string) int {
		if by := u.Extensions[b] - u.Extensions[a]; by != 0 {
			return by
		}
		return strings.Compare(a, b)
	})
	var all []string
	rest := u.Files
	for _, extension := range common {
		if extension != "" && len(all) < shown {
			all = append(all, fmt.Sprintf("%d %s", u.Extensions[extension], extension))
			rest -= u.Extensions[extension]
		}
	}
	if rest > 0 {
		all = append(all, fmt.Sprintf("%d other", rest))
	}
	return strings.Join(all, ", ")
}
