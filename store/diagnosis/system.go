package diagnosis

import (
	"regexp"
	"strings"
)

// systemPrefix begins the names of system metrics.
const systemPrefix = "system/"

const (
	lastMinute = 60_000 // length in milliseconds of the part of a system metric that counts, up to its last value
	// maxGap is the maximum time in milliseconds between the last value of a system metric and the
	// end of the run.
	maxGap = 150_000
	full   = 95 // a memory or disk is nearly full from this percentage on
	idle   = 1  // a processor is idle up to this percentage
)

// gauge describes a system metric in percent. The Python client and W&B's clients use different
// names for the same metric.
type gauge struct {
	names *regexp.Regexp
	what  string // name of the metric in sentences; # stands for the number in the metric's key
	kind  gaugeKind
}

type gaugeKind int

const (
	memoryGauge gaugeKind = iota
	gpuMemoryGauge
	diskGauge
	busyGauge
)

var gauges = []gauge{
	{regexp.MustCompile(`^(?:memory_percent|memory)$`), "Memory", memoryGauge},
	{regexp.MustCompile(`^gpu\.(\d+)\.(?:memory_percent|memoryAllocated)$`), "The memory of GPU #", gpuMemoryGauge},
	{regexp.MustCompile(`^(?:disk_percent|disk|disk\./\.usagePercent)$`), "The disk", diskGauge},
	{regexp.MustCompile(`^gpu\.(\d+)\.(?:utilization_percent|gpu)$`), "GPU #", busyGauge},
	{regexp.MustCompile(`^(?:process\.cpu_percent|cpu)$`), "The process", busyGauge},
}

// gaugeOf returns the gauge of a system metric and its name in sentences.
func gaugeOf(key string) (g gauge, what string, ok bool) {
	name, found := strings.CutPrefix(key, systemPrefix)
	if !found {
		return g, "", false
	}
	for _, g := range gauges {
		if m := g.names.FindStringSubmatch(name); m != nil {
			what := g.what
			if len(m) > 1 {
				what = strings.ReplaceAll(what, "#", m[1])
			}
			return g, what, true
		}
	}
	return g, "", false
}

// IsGauge reports whether Of uses the system metric.
func IsGauge(key string) bool {
	_, _, ok := gaugeOf(key)
	return ok
}

// machine returns findings about the machine in the last minute with measurements before the end
// of a run.
func machine(series []Series, kind Kind, outcome Outcome, end int64) (found []Finding) {
	died := outcome == Lost || outcome == Killed || kind == Signal || kind == Memory || kind == GPUMemory
	for _, s := range series {
		g, what, ok := gaugeOf(s.Key)
		if !ok || len(s.At) == 0 || end-s.At[len(s.At)-1] > maxGap {
			continue
		}
		last := s.At[len(s.At)-1]
		most, values := 0.0, 0
		for i, v := range s.Value {
			if s.At[i] >= last-lastMinute && finite(v) {
				if !s.whole() && finite(s.High[i]) {
					v = s.High[i]
				}
				most, values = max(most, v), values+1
			}
		}
		if values == 0 || most > 101 && g.kind != busyGauge {
			continue // not a percentage
		}
		switch {
		case g.kind == busyGauge:
			if outcome == Lost && values >= 2 && most <= idle {
				found = append(found, Finding{Kind: System, Key: s.Key, Text: what + " was idle in the last minute with measurements."})
			}
		case most < full, g.kind == memoryGauge && outcome == Succeeded, g.kind == gpuMemoryGauge && !died:
		default:
			found = append(found, Finding{Kind: System, Key: s.Key,
				Text: what + " was " + number(most) + "% full in the last minute with measurements."})
		}
	}
	return found
}
