package search

import (
	"strings"
	"testing"
)

// TestNearNamesAreBounded counts the work of comparing names that are all similar.
func TestNearNamesAreBounded(t *testing.T) {
	var keys []Key
	for range 1000 {
		keys = append(keys, Key{Kind: MetricKey, Key: strings.Repeat("x", 200) + "y"})
	}
	unknown := Unknown{Kind: MetricKey, Key: strings.Repeat("x", 201)}
	enough := 1000 * 201 * 201
	work := enough
	if near := unknown.near(keys, &work); len(near) != maxNear || work != 0 {
		t.Errorf("%d names, %d of %d left", len(near), work, enough)
	}
	if near := unknown.near(keys, &work); len(near) != 0 || work != 0 {
		t.Errorf("%d names without work", len(near))
	}
	// A name that contains the wanted name is still found.
	if near := (Unknown{Kind: MetricKey, Key: "xxy"}).near(keys, &work); len(near) != maxNear {
		t.Errorf("%d names have the part", len(near))
	}
}
