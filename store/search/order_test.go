package search

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
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

// The number of stored changes is bounded. An order is not valid if the changes of its
// experiments are no longer stored.
func TestChangesAreBounded(t *testing.T) {
	var o Orders
	o.remember([32]byte{}, order{experiments: []string{"a"}})
	for i := range 2 * maxChanged {
		o.Touch(fmt.Sprint(i))
		o.Committed()
	}
	if len(o.changed) > maxChanged || o.Len() != 0 {
		t.Errorf("the changes of %d experiments are known, and %d orders hold", len(o.changed), o.Len())
	}
}

// The changes of a transaction are recorded before its commit, because a snapshot that includes
// the transaction must not find an older order.
func TestChangesAreKnownBeforeTheCommit(t *testing.T) {
	var o Orders
	o.remember([32]byte{}, order{experiments: []string{"a", "b"}})
	holds := func(when string, commits uint64, want bool) {
		t.Helper()
		if _, ok := o.find([32]byte{}, commits, 0); ok != want {
			t.Errorf("%s an order is found: %t", when, ok)
		}
	}
	o.Touch("c")
	holds("before a commit elsewhere", 0, true)
	o.Committed()
	holds("after a commit elsewhere", 1, true)
	o.Touch("b")
	holds("before a commit", 1, false)
	o.Committed()
	holds("after a commit", 2, false)
	o.remember([32]byte{}, order{experiments: []string{"a", "b"}, commits: 2})
	holds("after another search", 2, true)
	holds("in an older snapshot", 1, false)
	if err := o.Load(nil, true); err != nil {
		t.Fatal(err)
	}
	holds("after a commit of another process", 2, false)
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
