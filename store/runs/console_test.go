package runs_test

import (
	"fmt"
	"strings"
	"testing"

	"tracker/store/console"
	"tracker/store/domain"
	"tracker/store/runs"
	"tracker/store/users"
)

func (b *bed) print(t testing.TB, from int64, lines ...string) int64 {
	t.Helper()
	return must(b.Runs.WriteConsole(ctx, domain.System, b.Iteration, &from, lines))(t).Next
}

func (b *bed) console(t testing.TB, q console.Query) string {
	t.Helper()
	c := must(b.Runs.Console(ctx, domain.System, b.Iteration, q))(t)
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
	wantText(t, b.console(t, console.Query{Limit: 10}), "0-0:")
	b.print(t, 0, "epoch 1", " 10%|#  |")
	b.print(t, 1, " 20%|## |")
	if next := b.print(t, 1, "100%|###|", "Epoch 2"); next != 3 {
		t.Errorf("the next line is %d", next)
	}
	if next := must(b.Runs.WriteConsole(ctx, domain.System, b.Iteration, nil, []string{"done"}))(t).Next; next != 4 {
		t.Errorf("the line after the appended one is %d", next)
	}
	wantText(t, b.console(t, console.Query{Limit: 2}), "0-4: 2=Epoch 2 3=done")
	wantText(t, b.console(t, console.Query{Limit: 2, From: new(int64(1))}), "0-4: 1=100%|###| 2=Epoch 2")
	wantText(t, b.console(t, console.Query{Limit: 9, Search: "EPOCH"}), "0-4: 0=epoch 1 2=Epoch 2")

	// A line is truncated at the end of a character.
	b.print(t, 4, strings.Repeat("ä", console.MaxLine))
	c := must(b.Runs.Console(ctx, domain.System, b.Iteration, console.Query{Limit: 1}))(t)
	if text := c.Lines[0].Text; len(text) > console.MaxLine || !strings.HasSuffix(text, "ä…") {
		t.Errorf("the long line has %d bytes and ends with %q", len(text), text[len(text)-5:])
	}

	// Only the newest lines of the console are retained.
	b.print(t, console.MaxLines+1, "last")
	dropped := "2-50002: 2=… earlier lines, up to number 2, were dropped"
	wantText(t, b.console(t, console.Query{Limit: 1, From: new(int64(0))}), dropped)
	b.print(t, 0, "too late", "too late", "too late") // a repeated request
	wantText(t, b.console(t, console.Query{Limit: 1, From: new(int64(0))}), dropped)
	b.print(t, 2, "too late")
	wantText(t, b.console(t, console.Query{Limit: 1, From: new(int64(0))}), dropped)
	b.print(t, console.MaxLines+2, "one more")
	wantText(t, b.console(t, console.Query{Limit: 9, Search: "dropped"}), "3-50003: 3=… earlier lines, up to number 3, were dropped")

	for _, bad := range []struct {
		from  int64
		lines []string
	}{{-1, nil}, {1 << 50, nil}, {0, []string{"a\nb"}}, {0, []string{"\xff"}}, {0, make([]string, runs.MaxConsoleWrite+1)}} {
		_, err := b.Runs.WriteConsole(ctx, domain.System, b.Iteration, &bad.from, bad.lines)
		wantCode(t, err, domain.CodeInvalidPayload)
	}
	_, err := b.Runs.WriteConsole(ctx, domain.System, "none", nil, nil)
	wantCode(t, err, domain.CodeNotFound)
	_, err = b.Runs.Console(ctx, domain.System, "none", console.Query{})
	wantCode(t, err, domain.CodeNotFound)
}

func TestConsoleRights(t *testing.T) {
	b := newBed(t)
	user := func(name string, p users.PermissionPatch) domain.Actor {
		id := must(b.Users.CreateUser(ctx, domain.System, users.NewUser{Username: name, Password: "12345678"}))(t).ID
		must(b.Users.CreateUserPermission(ctx, domain.System, id, b.Project, p))(t)
		return domain.Actor{UserID: id}
	}
	reader, creator := user("reader", users.PermissionPatch{}), user("creator", users.PermissionPatch{Create: new(true)})
	both := user("both", users.PermissionPatch{Create: new(true), Update: new(true)})
	line := []string{"x"}
	_, err := b.Runs.WriteConsole(ctx, reader, b.Iteration, nil, line)
	wantCode(t, err, domain.CodeProjectPermissionRequired)
	must(b.Runs.WriteConsole(ctx, creator, b.Iteration, nil, line))(t)
	must(b.Runs.Console(ctx, reader, b.Iteration, console.Query{}))(t)
	wantOK(t, b.Runs.UpdateIteration(ctx, domain.System, b.Iteration, runs.IterationPatch{Status: new(domain.Succeeded)}))
	_, err = b.Runs.WriteConsole(ctx, creator, b.Iteration, nil, line)
	wantCode(t, err, domain.CodeProjectPermissionRequired)
	if next := must(b.Runs.WriteConsole(ctx, both, b.Iteration, nil, line))(t).Next; next != 2 {
		t.Errorf("the next line is %d", next)
	}
}

// TestConsoleChanges checks that the events of a run report the console of the run. They must
// not report the console of another run.
func TestConsoleChanges(t *testing.T) {
	b := newBed(t)
	start := must(b.Runs.IterationChanges(ctx, domain.System, b.Iteration, ""))(t).Cursor
	b.print(t, 0, "a")
	b.print(t, 1, "b")
	c := must(b.Runs.IterationChanges(ctx, domain.System, b.Iteration, start))(t)
	if len(c.Console) != 1 || c.Console[0] != (runs.ConsoleGrowth{IterationID: b.Iteration, Next: 2}) || len(c.Iterations) > 0 {
		t.Errorf("the changes are %+v", c)
	}
	if c := must(b.Runs.ExperimentChanges(ctx, domain.System, b.Experiment, start))(t); !c.Empty() {
		t.Errorf("the changes of the experiment are %+v", c)
	}
}
