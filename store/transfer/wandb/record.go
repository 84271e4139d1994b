package wandb

import (
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"tracker/store/transfer/wire"
	"tracker/store/wandb/format"
)

// Field numbers of a Record message.
const (
	recordHistory     = 2
	recordSummary     = 3
	recordConfig      = 5
	recordArtifact    = 8
	recordMetric      = 12
	recordRun         = 17
	recordExit        = 18
	recordEnvironment = 26
)

// item holds a key and its value in JSON. A nested key is a path with slashes.
type item struct{ key, json string }

// parseItem decodes an item of a configuration, a summary or a history. An item can contain its
// value in JSON or as a typed field.
func parseItem(b []byte) (i item, err error) {
	var parts []string
	err = wire.Fields(b, func(n protowire.Number, _ protowire.Type, number uint64, data []byte) error {
		switch n {
		case 1:
			i.key = string(data)
		case 2:
			if len(parts) < 64 {
				parts = append(parts, string(data))
			}
		case 3:
			i.json = "null"
		case 4:
			i.json = strconv.FormatBool(number != 0)
		case 5:
			i.json = strconv.FormatInt(int64(number), 10)
		case 6:
			i.json = strconv.FormatFloat(math.Float64frombits(number), 'g', -1, 64)
		case 7:
			i.json = strconv.Quote(string(data))
		case 8, 16:
			i.json = string(data)
		}
		return nil
	})
	if i.key == "" {
		i.key = strings.Join(parts, "/")
	}
	return i, err
}

// items calls fn for each item in the repeated field with the given number.
func items(b []byte, number protowire.Number, fn func(item)) error {
	return wire.Fields(b, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
		if n != number {
			return nil
		}
		i, err := parseItem(data)
		if err == nil {
			fn(i)
		}
		return err
	})
}

// metricRecord holds what a script has declared about a metric. Its JSON is the value of the
// property that stores a definition.
type metricRecord struct {
	pattern    string // name of the metric, or a pattern that ends with an asterisk
	StepMetric string `json:"step_metric,omitzero"`
	Hidden     bool   `json:"hidden,omitzero"`
	Goal       string `json:"goal,omitzero"`
}

// parseMetric decodes a MetricRecord.
func parseMetric(b []byte) (m metricRecord, err error) {
	var low, high bool
	goal := 0
	err = wire.Fields(b, func(n protowire.Number, _ protowire.Type, number uint64, data []byte) error {
		switch n {
		case 1, 2:
			m.pattern = string(data)
		case 4:
			m.StepMetric = string(data)
		case 6:
			return wire.Fields(data, func(n protowire.Number, _ protowire.Type, number uint64, _ []byte) error {
				m.Hidden = m.Hidden || n == 2 && number != 0
				return nil
			})
		case 7:
			return wire.Fields(data, func(n protowire.Number, _ protowire.Type, number uint64, _ []byte) error {
				low, high = low || n == 1 && number != 0, high || n == 2 && number != 0
				return nil
			})
		case 8:
			goal = int(number)
		}
		return nil
	})
	m.Goal = format.GoalOf(goal, low, high)
	return m, err
}

// runRecord holds the fields of a RunRecord that are imported.
type runRecord struct {
	id, entity, project, group, jobType, name, notes, host string
	tags                                                   []string
	config                                                 []item
	start                                                  int64 // Unix milliseconds
	remote, commit                                         string
}

func parseRun(b []byte) (r runRecord, err error) {
	err = wire.Fields(b, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
		switch n {
		case 1:
			r.id = string(data)
		case 2:
			r.entity = string(data)
		case 3:
			r.project = string(data)
		case 4:
			return items(data, 1, func(i item) { r.config = append(r.config, i) })
		case 6:
			r.group = string(data)
		case 7:
			r.jobType = string(data)
		case 8:
			r.name = string(data)
		case 9:
			r.notes = string(data)
		case 10:
			r.tags = append(r.tags, string(data))
		case 13:
			r.host = string(data)
		case 17:
			r.start, err = parseTimestamp(data)
			return err
		case 21:
			r.remote, r.commit, err = parseGit(data)
			return err
		}
		return nil
	})
	return r, err
}

// parseTimestamp converts an encoded Timestamp to Unix milliseconds.
func parseTimestamp(b []byte) (ms int64, err error) {
	err = wire.Fields(b, func(n protowire.Number, _ protowire.Type, number uint64, _ []byte) error {
		switch n {
		case 1:
			ms += min(int64(number), 1<<40) * 1000
		case 2:
			ms += int64(number) / 1_000_000
		}
		return nil
	})
	return ms, err
}

func parseGit(b []byte) (remote, commit string, err error) {
	err = wire.Fields(b, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
		switch n {
		case 1:
			remote = string(data)
		case 2:
			commit = string(data)
		}
		return nil
	})
	return remote, commit, err
}

// environment holds the fields of an EnvironmentRecord that are imported.
type environment struct {
	python, program, host, remote, commit string
	args                                  []string
}

func parseEnvironment(b []byte) (e environment, err error) {
	err = wire.Fields(b, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
		switch n {
		case 2:
			e.python = string(data)
		case 5:
			e.args = append(e.args, string(data))
		case 6:
			e.program = string(data)
		case 9:
			e.remote, e.commit, err = parseGit(data)
			return err
		case 12:
			e.host = string(data)
		}
		return nil
	})
	return e, err
}
