package diagnosis

import (
	"cmp"
	"slices"
	"strings"
)

// Outcome is the state of a run.
type Outcome string

// Values of Outcome.
const (
	Running   Outcome = "running"
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
	Killed    Outcome = "killed"
	Lost      Outcome = "lost"
)

// Failure holds the signs of a run's failure that are compared with other runs.
type Failure struct {
	Outcome  Outcome
	Message  string   // end of the error message
	Crash    Crash    // crash that Recognise has found in the error message or the console
	Diverged []string // metrics whose last value is NaN or infinite, most interesting first
}

// Failed reports whether the run failed, diverged or was lost. A killed run counts only if it
// diverged or shows a cause, because users stop runs that they do not need.
func (f Failure) Failed() bool {
	switch f.Outcome {
	case Failed, Lost:
		return true
	case Killed:
		return len(f.Diverged) > 0 || f.Crash.Kind != None && f.Crash.Kind != Signal && f.Crash.Exception != "KeyboardInterrupt"
	}
	return len(f.Diverged) > 0
}

// Group returns a string that is equal for runs that failed in the same way. It depends on the
// signature of the crash. Without a crash, it depends on whether the run diverged, or else on the
// outcome and the error message.
func (f Failure) Group() string {
	if s := f.Crash.Signature(); s != "" {
		return s
	}
	if len(f.Diverged) > 0 {
		return "diverged"
	}
	return string(f.Outcome) + " " + normal(firstLine(f.Message))
}

// Cause describes the failure in one sentence.
func (f Failure) Cause() string {
	c := f.Crash
	message := clip(c.Message, maxMessage)
	switch c.Kind {
	case GPUMemory:
		return sentence("GPU out of memory: " + message)
	case Memory:
		return sentence("Out of memory: " + message)
	case TimeLimit:
		return sentence("Ended at the time limit: " + message)
	case Preempted:
		return sentence("Preempted: " + message)
	case Signal:
		return sentence("Ended by " + c.Signal)
	case Exception:
		text := c.Exception
		if message != "" {
			text += ": " + message
		}
		return sentence(text)
	}
	if len(f.Diverged) > 0 {
		return f.Diverged[0] + " is NaN or infinite at the end."
	}
	if line := firstLine(f.Message); line != "" {
		return sentence(clip(line, maxMessage))
	}
	switch f.Outcome {
	case Lost:
		return "The run was lost: it did not report its end."
	case Killed:
		return "The run was killed without an error message."
	}
	return "The run failed without an error message."
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// sentence adds a period to text if it does not end with punctuation.
func sentence(text string) string {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), ":"))
	if text == "" || strings.HasSuffix(text, "…") || strings.ContainsRune(".!?", rune(text[len(text)-1])) {
		return text
	}
	return text + "."
}

// Group is a set of runs that failed in the same way.
type Group struct {
	Name    string
	Members []int // indexes of the failures
}

// Groups divides failures into groups, largest first. Equally large groups keep the order of
// their first members.
func Groups(failures []Failure) []Group {
	at := map[string]int{}
	var all []Group
	for i, f := range failures {
		name := f.Group()
		g, ok := at[name]
		if !ok {
			g = len(all)
			at[name] = g
			all = append(all, Group{Name: name})
		}
		all[g].Members = append(all[g].Members, i)
	}
	slices.SortStableFunc(all, func(a, b Group) int { return cmp.Compare(len(b.Members), len(a.Members)) })
	return all
}
