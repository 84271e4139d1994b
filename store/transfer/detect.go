package transfer

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Kind describes a kind of import source.
type Kind struct {
	Name  string // name in the command `tracker import NAME`
	Title string // name to display
	// Project is the default project name of imported runs.
	Project string
	// Find returns the source of this kind at the given path, or nil if there is none.
	Find func(path string) (Source, error)
}

// Found converts its arguments to the results of Kind.Find. It returns a nil Source if empty is
// true.
func Found[S Source](s S, empty bool, err error) (Source, error) {
	if err != nil || empty {
		return nil, err
	}
	return s, nil
}

// Walk calls fn for root and for every file and folder below it. Walk does not follow links. It
// skips files and folders below root that can't be read. It returns an error if there are too
// many files.
func Walk(root string, fn func(path string, d fs.DirEntry) error) error {
	n := 0
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxFolderFiles {
			return fmt.Errorf("it contains more than %d files; import a part of it", maxFolderFiles)
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

// Detect returns the source at the given path and its kind. If name is not "", Detect tries only
// the kind with that name. It returns an error if no kind finds a source. It returns an
// *AmbiguousError if several kinds find a source.
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
		return Kind{}, nil, fmt.Errorf("%s has no files of %s", path, name)
	}
	return Kind{}, nil, fmt.Errorf("nothing that can be imported is at %s; the kinds are %s", path, strings.Join(tried, ", "))
}

// AmbiguousError reports that several kinds find a source at the same path.
type AmbiguousError struct {
	Path  string
	Kinds []string // names of the kinds
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s can be read as %s; name the kind", e.Path, strings.Join(e.Kinds, " and as "))
}
