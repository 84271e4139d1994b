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

// What is known of the last changes of experiments is bounded: of those that are not
// known an order does not hold.
func TestChangesAreBounded(t *testing.T) {
	var o Orders
	o.remember([32]byte{}, order{experiments: []string{"a"}})
	for i := range 2 * maxChanged {
		o.Touch(fmt.Sprint(i))
		o.Committed()
	}
	if len(o.changed) > maxChanged || o.Len() != 0 {
		t.Errorf("%d changes are known, and %d orders hold", len(o.changed), o.Len())
	}
}

// Searches that differ in a value only are not taken for each other.
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
