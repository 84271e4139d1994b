package search_test

import (
	"context"
	"testing"

	"tracker/store"
	"tracker/store/storetest"
)

// Short names for package storetest.
var (
	ctx      = context.Background()
	open     = storetest.Open
	wantOK   = storetest.WantOK
	codeOf   = storetest.CodeOf
	wantCode = storetest.WantCode
	hold     = storetest.Hold
)

type commits = storetest.Commits

func must[T any](v T, err error) func(testing.TB) T { return storetest.Must(v, err) }

// bed is a storetest.Bed with searches.
type bed struct{ *storetest.Bed }

func newBed(t testing.TB) *bed { return &bed{storetest.New(t)} }

func newBedWith(t testing.TB, o store.Options) *bed { return &bed{storetest.NewWith(t, o)} }
