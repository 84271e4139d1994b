package server_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
)

// TestMain checks, after all tests of the package have run, that every
// operation of the document has succeeded at least once.
func TestMain(m *testing.M) {
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.RegisteredBodyDecoder("text/plain"))
	openapi3filter.RegisterBodyDecoder("application/offset+octet-stream", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("*/*", openapi3filter.FileBodyDecoder)
	code := m.Run()
	if code == 0 && wholePackage() {
		code = reportUntried()
	}
	os.Exit(code)
}

func wholePackage() bool {
	for _, name := range []string{"run", "skip", "list", "fuzz", "fuzzworker", "bench"} {
		if f := flag.Lookup("test." + name); f != nil && f.Value.String() != f.DefValue {
			return false
		}
	}
	return true
}

func reportUntried() int {
	doc, err := loadDocument()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	code := 0
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if !doc.succeeded[op.OperationID] {
				fmt.Printf("no test got a success from %s %s\n", method, path)
				code = 1
			}
		}
	}
	return code
}
