// Package sacred reads the folders that Sacred's FileStorageObserver writes. Each run has a
// folder with run.json, config.json, metrics.json and other files.
package sacred

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"tracker/store/json"
	"tracker/store/transfer"
	"tracker/store/transfer/table"
)

// projectName is the default project name of imported runs.
const projectName = "Sacred"

// Kind returns the kind of source that this package reads.
func Kind() transfer.Kind {
	return transfer.Kind{Name: "sacred", Title: "Sacred's folders", Project: projectName, Find: func(path string) (transfer.Source, error) {
		s, err := find(path)
		return transfer.Found(s, len(s.folders) == 0, err)
	}}
}

// source holds the run folders found at a path.
type source struct {
	folders []string
	others  []transfer.Loss // one loss for each run.json file that is not imported
}

const (
	// maxAbout is the maximum size of run.json or config.json in bytes. maxMetrics is the
	// maximum size of metrics.json in bytes.
	maxAbout   = 8 << 20
	maxMetrics = 128 << 20
)

// about holds the content of run.json.
type about struct {
	Command    string `json:"command"`
	Experiment *struct {
		Name         string   `json:"name"`
		MainFile     string   `json:"mainfile"`
		Dependencies []string `json:"dependencies"`
		Repositories []struct {
			URL    string `json:"url"`
			Commit string `json:"commit"`
		} `json:"repositories"`
		Sources [][]string `json:"sources"`
	} `json:"experiment"`
	FailTrace []string `json:"fail_trace"`
	Host      struct {
		Hostname string `json:"hostname"`
		Python   string `json:"python_version"`
	} `json:"host"`
	Meta struct {
		Comment string `json:"comment"`
	} `json:"meta"`
	Result any    `json:"result"`
	Start  string `json:"start_time"`
	Beat   string `json:"heartbeat"`
	Stop   string `json:"stop_time"`
	Status string `json:"status"`
}

// find returns the run folders at a path: the path itself and folders below it.
func find(path string) (s source, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return s, err
	}
	err = transfer.Walk(path, func(at string, d fs.DirEntry) error {
		if !d.IsDir() && d.Name() == "run.json" && d.Type().IsRegular() {
			switch a, err := readAbout(filepath.Dir(at)); {
			case err != nil:
				s.others = append(s.others, transfer.Loss{Path: at, Reason: fmt.Sprintf("It can't be read: %v.", err)})
			case a.Experiment == nil || a.Status == "":
				s.others = append(s.others, transfer.Loss{Path: at, Reason: "It is left out: it has no experiment or no status, so it was not written by Sacred."})
			default:
				s.folders = append(s.folders, filepath.Dir(at))
			}
		}
		return nil
	})
	return s, err
}

func readAbout(folder string) (a about, err error) {
	return a, read(filepath.Join(folder, "run.json"), maxAbout, &a)
}

// read parses a JSON file written by Python, which can contain NaN and Infinity.
func read(path string, limit int64, into any) error {
	text, err := transfer.ReadFile(path, limit)
	if err != nil {
		return err
	}
	return json.Unmarshal(table.Quoted([]byte(text)), into, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true))
}

// Size returns 0, because the size is unknown.
func (s source) Size() int64 { return 0 }

// Import imports all runs of the source.
func (s source) Import(ctx context.Context, im *transfer.Import) error {
	for _, l := range s.others {
		im.Lose(l.Path, "%s", l.Reason)
	}
	for _, folder := range s.folders {
		a, err := readAbout(folder)
		if err != nil || a.Experiment == nil {
			im.Lose(folder, "Its run.json can't be read: %v.", err)
			continue
		}
		if im.Wanted(filepath.Base(folder), a.Experiment.Name) {
			if err := importRun(ctx, im, folder, a); err != nil {
				return err
			}
		}
	}
	return nil
}

var statuses = map[string]transfer.Status{"QUEUED": transfer.Running, "RUNNING": transfer.Running, "COMPLETED": transfer.Succeeded,
	"FAILED": transfer.Failed, "INTERRUPTED": transfer.Killed, "TIMEOUT": transfer.Killed, "KILLED": transfer.Killed, "DIED": transfer.Killed}

// uuid returns the id of a run. The id is derived from the experiment, the name of the folder, and
// the start time. The folder name alone is not unique: it is a number, and folders can be copied.
func (a about) uuid(folder string) uuid.UUID {
	return transfer.ID("sacred", "run", a.Experiment.Name, filepath.Base(folder), a.Start)
}

// run returns the fields of the run to import.
func (a about) run(im *transfer.Import, folder string) transfer.Run {
	to := transfer.Run{ID: a.uuid(folder), Project: projectName, Experiment: a.Experiment.Name, Name: filepath.Base(folder), Notes: a.Meta.Comment,
		Error: strings.Join(a.FailTrace, "")}
	if to.Experiment == "" {
		to.Experiment = filepath.Base(filepath.Dir(folder))
	}
	var ok bool
	if to.Status, ok = statuses[a.Status]; !ok {
		to.Status = transfer.Running
		im.Lose(folder, "The status of the run, %q, is not one of Sacred's; it is RUNNING here.", a.Status)
	}
	if to.Created, ok = timeOf(a.Start); !ok {
		im.Lose(folder, "The run has no start time; it is shown as started in 1970.")
	}
	stop := a.Stop
	if stop == "" {
		stop = a.Beat
	}
	if ended, ok := timeOf(stop); ok && to.Status != transfer.Running {
		to.Ended = &ended
	}
	return to
}

// timeOf parses a time. Sacred writes times in UTC without a zone.
func timeOf(text string) (transfer.Time, bool) {
	t, err := time.Parse("2006-01-02T15:04:05.999999999", strings.TrimSuffix(text, "Z"))
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return 0, false
	}
	return transfer.Time(t.UnixMilli()), true
}
