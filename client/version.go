package client

import (
	"regexp"
	"sync"
)

var versionLine = regexp.MustCompile(`(?m)^__version__ = "([0-9]+\.[0-9]+\.[0-9]+[^"]*)"$`)

// Version returns the version of the program and of the Python client, which
// are released together. It is defined in python/tracker/__init__.py only.
var Version = sync.OnceValue(func() string {
	initial, err := sources.ReadFile("python/tracker/__init__.py")
	if err != nil {
		panic(err) // it is compiled in
	}
	found := versionLine.FindSubmatch(initial)
	if found == nil {
		panic("python/tracker/__init__.py has no line with its version") // a test reads it
	}
	return string(found[1])
})
