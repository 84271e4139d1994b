package diagnosis

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Kind is the kind of a crash.
type Kind string

// Values of Kind. None means that the error message and the console contain no known sign of a
// crash.
const (
	None      Kind = ""
	Exception Kind = "exception"  // an exception of Python or of another language
	GPUMemory Kind = "gpu_memory" // a device did not have enough memory
	Memory    Kind = "memory"     // the machine or the container did not have enough memory
	Signal    Kind = "signal"     // a signal ended the process
	TimeLimit Kind = "time_limit" // the scheduler ended the job at its time limit
	Preempted Kind = "preempted"  // the scheduler gave the machine to another job
)

// Crash is the sign of a crash in the error message or the console of a run.
type Crash struct {
	Kind      Kind   `json:"kind"`
	Exception string `json:"exception"` // type of the exception, without its module
	Message   string `json:"message"`   // first line of the exception's message, or the line with the sign
	Signal    string `json:"signal"`    // name of the signal, such as SIGKILL
	// File, Line, Function and Code describe the innermost frame outside installed packages. If
	// all frames are in packages, they describe the innermost frame.
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"`
	Code     string `json:"code"`
	// Traceback reports whether a traceback for the exception was found.
	Traceback bool `json:"-"`

	at int // index of the line with the sign
}

const (
	maxTextLines = 5_000 // maximum number of lines that Recognise reads, counted from the end
	maxMessage   = 300   // maximum length of a message in characters
)

var (
	// rankPrefix matches the prefix that launchers add to the lines of a process.
	rankPrefix = regexp.MustCompile(`^(\[(default\d|rank) ?\d*\]:? ?|\([\w ]*pid=\d+(, ip=[\d.]+)?\) |\d+: |\[[\d,]+\]<std(out|err)>: ?)`)
	escapes    = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)|[@-Z\\\\-_])")
	frameLine  = regexp.MustCompile(`^\s*File "(.+)", line (\d+)(?:, in (.+))?$`)
	// exceptionLine matches the last line of a traceback, with the type and the message.
	exceptionLine = regexp.MustCompile(`^([A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*)(?::\s+(.*)|:)?$`)
	// launcher matches exceptions that a launcher raises after one of its processes has failed.
	launcher = regexp.MustCompile(`(?:^|\.)(ChildFailedError|ProcessRaisedException|ProcessExitedException|CalledProcessError)$`)
	// exceptionName matches names that count as types of exceptions even without a traceback.
	exceptionName = regexp.MustCompile(`(?:Error|Exception|Interrupt|Exit|Failure|Fault|Timeout|Abort)$`)

	gpuMemory = regexp.MustCompile(`(?i)CUDA out of memory|HIP out of memory|XPU out of memory|MPS backend out of memory|` +
		`CUDA error: out of memory|CUDA_ERROR_OUT_OF_MEMORY|CUBLAS_STATUS_ALLOC_FAILED|RESOURCE_EXHAUSTED: (?:.*)(?:out of memory|OOM)|OOM when allocating tensor`)
	hostMemory = regexp.MustCompile(`MemoryError\b|can't allocate memory: you tried to allocate|Cannot allocate memory|std::bad_alloc|` +
		`[Oo]ut of memory: Killed process|\boom[-_]kill|OutOfMemoryError: Task was killed|Detected \d+ oom[-_]kill|java\.lang\.OutOfMemoryError`)
	timeLimit = regexp.MustCompile(`(?i)DUE TO TIME LIMIT|job killed: walltime|walltime \d+ exceeded`)
	preempted = regexp.MustCompile(`(?i)DUE TO PREEMPTION|instance is being preempted|spot instance interruption`)
	exitCode  = regexp.MustCompile(`(?i)\bexit(?: ?code|ed with(?: code| status)?| status)\s*:?\s*(-?\d+)\b`)
	signalOf  = regexp.MustCompile(`\b(SIG(?:KILL|TERM|SEGV|ABRT|BUS|HUP|INT|QUIT|ILL|FPE|XCPU))\b`)
)

// shellSignals are the messages that shells and Python print after a signal has ended a process.
var shellSignals = []struct {
	text   *regexp.Regexp
	signal string
}{
	{regexp.MustCompile(`^Killed$|: +\d+ Killed( |$)`), "SIGKILL"},
	{regexp.MustCompile(`^Terminated$|: +\d+ Terminated( |$)`), "SIGTERM"},
	{regexp.MustCompile(`\bSegmentation fault\b`), "SIGSEGV"},
	{regexp.MustCompile(`^Aborted( \(core dumped\))?$|Fatal Python error: Aborted`), "SIGABRT"},
	{regexp.MustCompile(`^Bus error( \(core dumped\))?$|Fatal Python error: Bus error`), "SIGBUS"},
	{regexp.MustCompile(`^Floating point exception( \(core dumped\))?$`), "SIGFPE"},
	{regexp.MustCompile(`^Illegal instruction( \(core dumped\))?$`), "SIGILL"},
}

// exitSignals maps a signal number to a name. The exit code of a shell is 128 plus the number.
var exitSignals = map[int]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
	11: "SIGSEGV", 15: "SIGTERM", 24: "SIGXCPU"}

// Recognise looks for the sign of a crash in an error message or in console lines. If there are
// several signs, the result is the last traceback, or else the last other sign. If there is no
// sign, the kind of the result is None.
func Recognise(lines []string) Crash {
	skipped := max(0, len(lines)-maxTextLines)
	plain := make([]string, len(lines)-skipped)
	for i, line := range lines[skipped:] {
		line = escapes.ReplaceAllString(strings.TrimRight(line, "\r\n \t"), "")
		if at := strings.LastIndexByte(line, '\r'); at >= 0 { // a progress bar
			line = line[at+1:]
		}
		plain[i] = rankPrefix.ReplaceAllString(line, "")
	}
	c := lastTraceback(plain)
	sign := lastSign(plain, c.at)
	switch {
	case c.Kind == None:
		c = sign
	case c.Kind == Exception && sign.Kind != None && sign.Kind != Exception && sign.Kind != Signal:
		c.Kind = sign.Kind // the system reported the cause after the traceback
	}
	c.at += skipped
	return c
}

// lastTraceback returns the last Python traceback. The beginning of the traceback can be missing,
// because clients store only the end of a long message.
func lastTraceback(lines []string) (last Crash) {
	var frames []Crash
	for i := 0; i < len(lines); i++ {
		line := untree(lines[i])
		if strings.HasPrefix(strings.TrimSpace(line), "Traceback (most recent call last):") {
			frames = nil
			continue
		}
		if m := frameLine.FindStringSubmatch(line); m != nil {
			number, _ := strconv.Atoi(m[2])
			f := Crash{File: clip(m[1], maxMessage), Line: number, Function: clip(m[3], 100)}
			if i+1 < len(lines) && frameLine.FindString(untree(lines[i+1])) == "" && isIndented(untree(lines[i+1])) {
				f.Code = clip(strings.TrimSpace(untree(lines[i+1])), 200)
			}
			frames = append(frames, f)
			continue
		}
		if len(frames) == 0 || line == "" || isIndented(line) {
			continue
		}
		if m := exceptionLine.FindStringSubmatch(line); m != nil && !(last.Traceback && launcher.MatchString(m[1])) {
			last = innermost(frames)
			last.Kind, last.Traceback, last.at = Exception, true, i
			last.Exception = m[1][strings.LastIndexByte(m[1], '.')+1:]
			last.Message = m[2]
			if (last.Message == "" || strings.HasSuffix(last.Message, ":")) && i+1 < len(lines) && isIndented(lines[i+1]) {
				last.Message = strings.TrimSpace(last.Message + " " + strings.TrimSpace(lines[i+1]))
			}
			last.Message = clip(last.Message, maxMessage)
			if k := memoryKind(line); k != None {
				last.Kind = k
			}
		}
		frames = nil
	}
	return last
}

// untree removes the lines that Python draws to the left of an exception group.
func untree(line string) string {
	trimmed := strings.TrimLeft(line, " ")
	if strings.HasPrefix(trimmed, "| ") {
		return trimmed[2:]
	}
	if strings.HasPrefix(trimmed, "+ ") || strings.HasPrefix(trimmed, "+-") {
		return strings.TrimLeft(trimmed, "+- ")
	}
	return line
}

func isIndented(line string) bool {
	return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
}

// innermost returns the last frame outside installed packages, or else the last frame.
func innermost(frames []Crash) Crash {
	for i := len(frames) - 1; i >= 0; i-- {
		if !isPackage(frames[i].File) {
			return frames[i]
		}
	}
	return frames[len(frames)-1]
}

// isPackage reports whether a file belongs to Python or to an installed package.
func isPackage(file string) bool {
	slashed := strings.ReplaceAll(file, `\`, "/")
	return strings.Contains(slashed, "/site-packages/") || strings.Contains(slashed, "/dist-packages/") ||
		strings.HasPrefix(slashed, "<frozen") || strings.HasPrefix(slashed, "<string>") || strings.HasPrefix(slashed, "<__array_function__") ||
		library.MatchString(slashed)
}

// library matches files of Python's standard library.
var library = regexp.MustCompile(`(?i)/lib(64)?/python[\d.]+/|/python\d+/lib/`)

// memoryKind returns GPUMemory or Memory if the text is a message about missing memory.
func memoryKind(text string) Kind {
	switch {
	case gpuMemory.MatchString(text):
		return GPUMemory
	case hostMemory.MatchString(text):
		return Memory
	}
	return None
}

// lastSign looks for signs of a crash, other than tracebacks, near the end of lines. It ignores the
// lines before index from. It returns the last sign, but prefers a sign that names a cause to a
// signal or an exit code, which only follow from the cause.
func lastSign(lines []string, from int) (found Crash) {
	rank := func(k Kind) int {
		switch k {
		case None:
			return 0
		case Signal:
			return 1
		case Exception:
			return 2
		}
		return 3
	}
	for i := max(from, len(lines)-nearEnd, 0); i < len(lines); i++ {
		c := signIn(lines[i])
		if c.Kind == Exception && i < len(lines)-veryNearEnd {
			continue
		}
		if c.Kind != None && rank(c.Kind) >= rank(found.Kind) {
			c.at, c.Message = i, clip(c.Message, maxMessage)
			found = c
		}
	}
	return found
}

// Programs also print errors that they handle. Therefore only the last lines count: nearEnd
// lines, or veryNearEnd lines for an exception without a traceback.
const (
	nearEnd     = 60
	veryNearEnd = 5
)

func signIn(line string) Crash {
	text := strings.TrimSpace(line)
	if text == "" {
		return Crash{}
	}
	if k := memoryKind(text); k != None {
		c := Crash{Kind: k, Message: text}
		if m := exceptionLine.FindStringSubmatch(text); m != nil && exceptionName.MatchString(m[1]) {
			c.Exception, c.Message = m[1][strings.LastIndexByte(m[1], '.')+1:], m[2]
		}
		return c
	}
	if timeLimit.MatchString(text) {
		return Crash{Kind: TimeLimit, Message: text}
	}
	if preempted.MatchString(text) {
		return Crash{Kind: Preempted, Message: text}
	}
	for _, s := range shellSignals {
		if s.text.MatchString(text) {
			return Crash{Kind: Signal, Signal: s.signal, Message: text}
		}
	}
	if m := exitCode.FindStringSubmatch(text); m != nil {
		code, _ := strconv.Atoi(m[1])
		if name := exitSignals[-code]; name != "" {
			return Crash{Kind: Signal, Signal: name, Message: text}
		}
		if name := exitSignals[code-128]; name != "" && code > 128 {
			return Crash{Kind: Signal, Signal: name, Message: text}
		}
	}
	if m := signalOf.FindString(text); m != "" {
		return Crash{Kind: Signal, Signal: m, Message: text}
	}
	if m := exceptionLine.FindStringSubmatch(text); m != nil && exceptionName.MatchString(m[1]) {
		return Crash{Kind: Exception, Exception: m[1][strings.LastIndexByte(m[1], '.')+1:], Message: m[2]}
	}
	return Crash{}
}

// At returns the index of the line that shows the crash.
func (c Crash) At() int { return c.at }

// Place returns the file and line of the crash, such as "train.py line 41", or "".
func (c Crash) Place() string {
	if c.File == "" {
		return ""
	}
	return baseOf(c.File) + " line " + strconv.Itoa(c.Line)
}

func baseOf(file string) string { return path.Base(strings.ReplaceAll(file, `\`, "/")) }

// Signature returns a string that is equal for crashes with the same cause. It contains the
// exception, the function and the message, without numbers, addresses, quoted strings and paths.
func (c Crash) Signature() string {
	switch c.Kind {
	case None:
		return ""
	case GPUMemory, Memory, TimeLimit, Preempted:
		return string(c.Kind)
	case Signal:
		return string(c.Kind) + " " + c.Signal
	}
	s := string(c.Kind) + " " + c.Exception + ": " + normal(c.Message)
	if c.File != "" {
		s += " in " + baseOf(c.File) + " " + c.Function
	}
	return s
}

var (
	paths     = regexp.MustCompile(`(?:[A-Za-z]:)?(?:[\\/][\w.@+-]+){2,}[\\/]?|\b\w[\w.+-]*(?:/[\w.+-]+)+`)
	quoted    = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	addresses = regexp.MustCompile(`\b0x[0-9a-fA-F]+\b|\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*\b`)
	numbers   = regexp.MustCompile(`[-+]?\d[\d,._]*(?:[eE][-+]?\d+)?`)
)

// normal returns a message without the parts that differ between runs.
func normal(message string) string {
	m := quoted.ReplaceAllString(message, "_")
	m = paths.ReplaceAllString(m, "_")
	m = addresses.ReplaceAllString(m, "_")
	m = numbers.ReplaceAllString(m, "_")
	return clip(strings.Join(strings.Fields(m), " "), 160)
}

// clip returns s, shortened to n characters and without control characters. A shortened string
// ends with an ellipsis.
func clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}
