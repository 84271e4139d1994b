package search

import (
	"fmt"
	"strings"
	"testing"
)

// The memory of orders is bounded.
func TestOrdersAreBounded(t *testing.T) {
	var o Orders
	for i := range 200 {
		k := orderKey{}
		k.query[0] = byte(i)
		o.remember(k, order{rows: make([]ordered, maxOrder)})
		if n := o.rows(); n > maxOrdered || len(o.known)*maxOrder != n {
			t.Fatalf("%d rows of %d orders are remembered", n, len(o.known))
		}
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
