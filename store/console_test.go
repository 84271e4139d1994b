package store_test

import (
	"fmt"
	"strings"
	"testing"

	"tracker/store"
)

func (b *bed) print(t testing.TB, from int64, lines ...string) int64 {
	t.Helper()
	return must(b.WriteConsole(ctx, store.System, b.iteration, &from, lines))(t).Next
}

func (b *bed) console(t testing.TB, q store.ConsoleQuery) string {
	t.Helper()
	c := must(b.Console(ctx, store.System, b.iteration, q))(t)
	text := fmt.Sprintf("%d-%d:", c.First, c.Next)
	for _, l := range c.Lines {
		text += fmt.Sprintf(" %d=%s", l.Number, l.Text)
	}
	return text
}

func wantText(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestConsole(t *testing.T) {
	b := newBed(t)
	wantText(t, b.console(t, store.ConsoleQuery{Limit: 10}), "0-0:")
	b.print(t, 0, "epoch 1", " 10%|#  |")
	b.print(t, 1, " 20%|## |")
	if next := b.print(t, 1, "100%|###|", "Epoch 2"); next != 3 {
		t.Errorf("the next line is %d", next)
	}
	if next := must(b.WriteConsole(ctx, store.System, b.iteration, nil, []string{"done"}))(t).Next; next != 4 {
		t.Errorf("the line after the appended one is %d", next)
	}
	wantText(t, b.console(t, store.ConsoleQuery{Limit: 2}), "0-4: 2=Epoch 2 3=done")
	wantText(t, b.console(t, store.ConsoleQuery{Limit: 2, From: new(int64(1))}), "0-4: 1=100%|###| 2=Epoch 2")
	wantText(t, b.console(t, store.ConsoleQuery{Limit: 9, Search: "EPOCH"}), "0-4: 0=epoch 1 2=Epoch 2")

	// A line is cut where a character ends.
	b.print(t, 4, strings.Repeat("ä", store.MaxConsoleLine))
	c := must(b.Console(ctx, store.System, b.iteration, store.ConsoleQuery{Limit: 1}))(t)
	if text := c.Lines[0].Text; len(text) > store.MaxConsoleLine || !strings.HasSuffix(text, "ä…") {
		t.Errorf("the long line has %d bytes and ends with %q", len(text), text[len(text)-5:])
	}

	// Only the newest lines stay.
	b.print(t, store.MaxConsoleLines+1, "last")
	dropped := "2-50002: 2=… earlier lines, up to number 2, were dropped"
	wantText(t, b.console(t, store.ConsoleQuery{Limit: 1, From: new(int64(0))}), dropped)
	b.print(t, 0, "too late", "too late", "too late") // a request that comes again
	wantText(t, b.console(t, store.ConsoleQuery{Limit: 1, From: new(int64(0))}), dropped)
	b.print(t, 2, "too late")
	wantText(t, b.console(t, store.ConsoleQuery{Limit: 1, From: new(int64(0))}), dropped)
	b.print(t, store.MaxConsoleLines+2, "one more")
	wantText(t, b.console(t, store.ConsoleQuery{Limit: 9, Search: "dropped"}), "3-50003: 3=… earlier lines, up to number 3, were dropped")

	for _, bad := range []struct {
		from  int64
		lines []string
	}{{-1, nil}, {1 << 50, nil}, {0, []string{"a\nb"}}, {0, []string{"\xff"}}, {0, make([]string, store.MaxConsoleWrite+1)}} {
		_, err := b.WriteConsole(ctx, store.System, b.iteration, &bad.from, bad.lines)
		wantCode(t, err, store.CodeInvalidPayload)
	}
	_, err := b.WriteConsole(ctx, store.System, "none", nil, nil)
	wantCode(t, err, store.CodeNotFound)
	_, err = b.Console(ctx, store.System, "none", store.ConsoleQuery{})
	wantCode(t, err, store.CodeNotFound)
}

func TestConsoleRights(t *testing.T) {
	b := newBed(t)
	user := func(name string, p store.PermissionPatch) store.Actor {
		id := must(b.CreateUser(ctx, store.System, store.NewUser{Username: name, Password: "12345678"}))(t).ID
		must(b.CreateUserPermission(ctx, store.System, id, b.project, p))(t)
		return store.Actor{UserID: id}
	}
	reader, creator := user("reader", store.PermissionPatch{}), user("creator", store.PermissionPatch{Create: new(true)})
	both := user("both", store.PermissionPatch{Create: new(true), Update: new(true)})
	line := []string{"x"}
	_, err := b.WriteConsole(ctx, reader, b.iteration, nil, line)
	wantCode(t, err, store.CodeProjectPermissionRequired)
	must(b.WriteConsole(ctx, creator, b.iteration, nil, line))(t)
	must(b.Console(ctx, reader, b.iteration, store.ConsoleQuery{}))(t)
	wantOK(t, b.UpdateIteration(ctx, store.System, b.iteration, store.IterationPatch{Status: new(store.Succeeded)}))
	_, err = b.WriteConsole(ctx, creator, b.iteration, nil, line)
	wantCode(t, err, store.CodeProjectPermissionRequired)
	if next := must(b.WriteConsole(ctx, both, b.iteration, nil, line))(t).Next; next != 2 {
		t.Errorf("the next line is %d", next)
	}
}

// TestConsoleChanges has the events of a run, and no others, report its console.
func TestConsoleChanges(t *testing.T) {
	b := newBed(t)
	start := must(b.IterationChanges(ctx, store.System, b.iteration, ""))(t).Cursor
	b.print(t, 0, "a")
	b.print(t, 1, "b")
	c := must(b.IterationChanges(ctx, store.System, b.iteration, start))(t)
	if len(c.Console) != 1 || c.Console[0] != (store.ConsoleGrowth{IterationID: b.iteration, Next: 2}) || len(c.Iterations) > 0 {
		t.Errorf("the changes are %+v", c)
	}
	if c := must(b.ExperimentChanges(ctx, store.System, b.experiment, start))(t); !c.Empty() {
		t.Errorf("the changes of the experiment are %+v", c)
	}
}
