package transfer

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Kind is a kind of source.
type Kind struct {
	Name  string // as in `tracker import NAME`
	Title string // for people
	// Project is the project of its runs if the options name none.
	Project string
	// Find returns the source of this kind at a path, or nil if there is none.
	Find func(path string) (Source, error)
}

// Found returns the results of Kind.Find: s, or nil if it is empty.
func Found[S Source](s S, empty bool, err error) (Source, error) {
	if err != nil || empty {
		return nil, err
	}
	return s, nil
}

// Walk calls fn for a path and everything below it, without following links. It skips files and
// folders below the path that can't be read. It returns an error if there are too many files.
func Walk(root string, fn func(path string, d fs.DirEntry) error) error {
	n := 0
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxFolderFiles {
			return fmt.Errorf("there are more than %d files in it; import a part of it", maxFolderFiles)
		}
		if err == nil {
			return fn(path, d)
		}
		if path == root {
			return err
		}
		return nil
	})
}

// Detect returns the source at a path and its kind. If name is not "", it tries only this kind.
// It returns an error if no kind has a source there, or an *AmbiguousError if several have one.
func Detect(kinds []Kind, name, path string) (Kind, Source, error) {
	var found []Kind
	var source Source
	var tried []string
	for _, k := range kinds {
		tried = append(tried, k.Name)
		if name != "" && k.Name != name {
			continue
		}
		s, err := k.Find(path)
		if err != nil {
			return Kind{}, nil, fmt.Errorf("%s: %w", path, err)
		}
		if s != nil {
			found, source = append(found, k), s
		}
	}
	switch {
	case len(found) == 1:
		return found[0], source, nil
	case len(found) > 1:
		var names []string
		for _, k := range found {
			names = append(names, k.Name)
		}
		return Kind{}, nil, &AmbiguousError{Path: path, Kinds: names}
	case name != "":
		return Kind{}, nil, fmt.Errorf("%s has nothing of %s", path, name)
	}
	return Kind{}, nil, fmt.Errorf("nothing that can be imported is at %s; the kinds are %s", path, strings.Join(tried, ", "))
}

// AmbiguousError reports that several kinds have a source at a path.
type AmbiguousError struct {
	Path  string
	Kinds []string // their names
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s can be read as %s; say which", e.Path, strings.Join(e.Kinds, " and as "))
}
