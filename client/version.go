package client

import (
	"regexp"
	"sync"
)

var versionLine = regexp.MustCompile(`(?m)^__version__ = "([0-9]+\.[0-9]+\.[0-9]+[^"]*)"$`)

// Version returns the version of the program and the Python client, which are released
// together. The only definition of the version is in python/tracker/__init__.py.
var Version = sync.OnceValue(func() string {
	initial, err := sources.ReadFile("python/tracker/__init__.py")
	if err != nil {
		panic(err) // unreachable: the file is embedded in the program
	}
	found := versionLine.FindSubmatch(initial)
	if found == nil {
		panic("python/tracker/__init__.py has no line with its version") // unreachable: a test checks that the line exists
	}
	return string(found[1])
})
