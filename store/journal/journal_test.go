package journal

import (
	"slices"
	"testing"
)

func all(Entry) bool { return true }

func change(num int64) Entry { return Entry{Key: Key{Iteration: Iteration{Num: num}}} }

func nums(found []Entry) (nums []int64) {
	for _, e := range found {
		nums = append(nums, e.Iteration.Num)
	}
	return nums
}

// Since returns the changes that were committed after the cursor: the last change of each
// iteration, in the order of the changes.
func TestSince(t *testing.T) {
	j := New()
	_, cursor, ok := j.Since("", all)
	if !ok {
		t.Error("an empty cursor does not begin now")
	}
	j.Note(change(1))
	j.Note(change(2))
	mark := j.Mark()
	j.Note(change(3))
	j.RolledBack(mark)
	if found, _, _ := j.Since(cursor, all); len(found) > 0 {
		t.Errorf("before the commit: %v", nums(found))
	}
	j.Note(change(1))
	j.Committed()
	found, next, ok := j.Since(cursor, all)
	if !ok || !slices.Equal(nums(found), []int64{2, 1}) {
		t.Errorf("found %v, %v", nums(found), ok)
	}
	if found, _, ok := j.Since(next, all); !ok || len(found) > 0 {
		t.Errorf("after the last change: %v, %v", nums(found), ok)
	}
	for _, bad := range []string{"x", New().life + "-0", j.life + "-999", "-"} {
		if _, _, ok := j.Since(bad, all); ok {
			t.Errorf("the cursor %q is accepted", bad)
		}
	}
}

// The oldest changes are dropped, and a write of another process invalidates all
// cursors.
func TestForgetting(t *testing.T) {
	j := New()
	_, first, _ := j.Since("", all)
	for i := range int64(maxChanges) {
		j.Note(change(i))
		j.Committed()
	}
	if found, _, ok := j.Since(first, all); !ok || len(found) != maxChanges {
		t.Errorf("%d changes, %v", len(found), ok)
	}
	j.Note(change(maxChanges))
	j.Committed()
	_, now, ok := j.Since(first, all)
	if ok {
		t.Error("a cursor before the oldest change is accepted")
	}
	if err := j.Load(nil, true); err != nil {
		t.Fatal(err)
	}
	if _, next, ok := j.Since(now, all); ok || next == now {
		t.Errorf("after another process has written: the cursor %s is accepted", now)
	}
}
