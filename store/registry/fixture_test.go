package registry_test

import (
	"context"
	"testing"

	"tracker/store/storetest"
)

// These are short names for functions of package storetest.
var (
	ctx       = context.Background()
	newBed    = storetest.New
	newModel  = storetest.NewModel
	raw       = storetest.Raw
	execSQL   = storetest.Exec
	countRows = storetest.CountRows
	wantOK    = storetest.WantOK
	wantCode  = storetest.WantCode
	wantClean = storetest.WantClean
	codeOf    = storetest.CodeOf
)

type bed = storetest.Bed

func must[T any](v T, err error) func(testing.TB) T { return storetest.Must(v, err) }
