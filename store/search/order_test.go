package search

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"tracker/store/sqlite"
)

// The memory of orders is bounded.
func TestOrdersAreBounded(t *testing.T) {
	for name, one := range map[string]order{
		"many hits":        {rows: make([]ordered, maxOrder)},
		"no hits":          {},
		"many experiments": {experiments: make([]string, maxOrder)},
	} {
		var o Orders
		for i := range 2 * maxOrdered / one.size() {
			var k [32]byte
			binary.LittleEndian.PutUint64(k[:], uint64(i))
			o.remember(k, one)
		}
		if size := o.Len() * one.size(); size == 0 || size > maxOrdered {
			t.Errorf("%s: %d orders of %d are remembered", name, o.Len(), one.size())
		}
	}
}

// The stored changes of experiments are bounded. An order is not valid if changes of its
// experiments are not stored.
func TestChangesAreBounded(t *testing.T) {
	var o Orders
	o.remember([32]byte{}, order{experiments: []string{"a"}})
	for i := range 2 * maxChanged {
		o.Touch(fmt.Sprint(i), int64(i))
		commit(t, &o)
	}
	if len(o.changed) > maxChanged || o.size > maxChanged || o.Len() != 0 {
		t.Errorf("%d changes in %d experiments are known, and %d orders hold", o.size, len(o.changed), o.Len())
	}
	o = Orders{}
	for i := range 2 * maxChangedIn {
		o.Touch("a", int64(i))
		commit(t, &o)
	}
	if n := len(o.changed["a"].iterations); n > maxChangedIn || n != o.size || o.whole([]string{"a"}) == 0 {
		t.Errorf("%d changes of one experiment are known, counted as %d", n, o.size)
	}
}

// commit counts a transaction.
func commit(t *testing.T, o *Orders) {
	t.Helper()
	if err := o.Flush(nil, sqlite.BeforeCommit); err != nil {
		t.Fatal(err)
	}
	o.Committed()
}

// The changes of a transaction are published before it is committed: a snapshot that shows
// the transaction must not find an order without it.
func TestChangesAreKnownBeforeTheCommit(t *testing.T) {
	var o Orders
	o.remember([32]byte{}, order{experiments: []string{"a", "b"}, mendable: true})
	o.Touch("a", 1)
	if err := o.Flush(nil, sqlite.BeforeCommit); err != nil {
		t.Fatal(err)
	}
	if _, changed, ok := o.find([32]byte{}, 0, 0); !ok || fmt.Sprint(changed) != "[1]" {
		t.Errorf("before the commit %v have changed (%t)", changed, ok)
	}
	o.Committed()
	o.Touch("b", 2)
	o.Touch("c", 3)
	commit(t, &o)
	if _, changed, ok := o.find([32]byte{}, 2, 0); !ok || fmt.Sprint(changed) != "[1 2]" {
		t.Errorf("%v have changed (%t)", changed, ok)
	}
	if err := o.Load(nil, true); err != nil {
		t.Fatal(err)
	}
	commit(t, &o)
	if _, _, ok := o.find([32]byte{}, 3, 0); ok {
		t.Error("an order is found although anything may have changed")
	}
}

// Searches that differ only in a value have different orders.
func TestOrdersOfDifferentValues(t *testing.T) {
	seen := map[string]string{}
	for _, args := range [][]any{{"a", "b"}, {"ab", ""}, {"1"}, {int64(1)}, {1.0}, {nil}, {"<nil>"}, {new("1"), "b"}} {
		q := SQL{Args: args}
		q.Add("SELECT ?")
		sum, err := q.sum()
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%#v", args)
		if other, ok := seen[string(sum[:])]; ok {
			t.Errorf("%s is taken for %s", text, other)
		}
		seen[string(sum[:])] = text
	}
	q := SQL{Args: []any{new("x")}}
	first, _ := q.sum()
	q.Args[0] = new(strings.Clone("x"))
	if second, _ := q.sum(); first != second {
		t.Error("two pointers to equal texts are different values")
	}
}
