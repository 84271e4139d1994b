package wandb

import (
	"crypto/rand"
	"math"
	"path"
	"strings"
	"time"

	"tracker/store"
	"tracker/store/json"
	"tracker/store/scalar"
	"tracker/store/transfer"
	"tracker/store/transfer/wandb"
)

// newName makes up the id of a run.
func newName() (string, error) {
	const letters = "abcdefghijklmnopqrstuvwxyz012345" // 32
	b := make([]byte, 8)
	if _, err := rand.Read(b); err != nil {
		return "", err
	}
	for i := range b {
		b[i] = letters[b[i]%32]
	}
	return string(b), nil
}

// cleanName returns the name of a file without parts that are empty or ".".
func cleanName(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
}

// run returns a run of a project, nil when there is none.
func (c *call) run(entity, project, name string) (any, error) {
	r, err := c.db.WandbRecord(c.ctx, c.actor, project, name)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.runObject(entity, project, &r), nil
}

// stateOf returns the state of a run in W&B's words.
func stateOf(r *store.WandbRecord, now time.Time) string {
	switch r.Status {
	case store.Succeeded:
		return "finished"
	case store.Failed:
		return "failed"
	case store.Killed:
		if r.ErrorMessage == "preempted" {
			return "preempted"
		}
		return "killed"
	}
	if now.Sub(r.LastSeen.Time()) > store.LostAfter {
		return "crashed"
	}
	return "running"
}

// runObject returns a run with all fields that clients ask for.
func (c *call) runObject(entity, project string, r *store.WandbRecord) object {
	if entity == "" {
		entity = c.user.Username
	}
	o := object{
		"__typename": "Run", "id": r.ID, "name": r.RunID, "displayName": r.Name, "notes": r.Notes, "description": r.Notes,
		"state": stateOf(r, c.s.auth.Now()), "config": r.Config, "summaryMetrics": r.Summary, "systemMetrics": orEmpty(r.Events),
		"group": orNull(r.Group), "groupName": orNull(r.Group), "jobType": orNull(r.JobType), "tags": tagsOf(r), "sweepName": orNull(r.Sweep),
		"createdAt": isoTime(r.CreatedDate), "heartbeatAt": isoTime(r.LastSeen), "updatedAt": isoTime(r.LastSeen),
		"host": orNull(r.Host), "jobProgram": orNull(r.Program), "commit": nil, "readOnly": false, "stopped": r.Status != store.Running && !r.Complete,
		"user":      object{"__typename": "User", "name": fullName(c.user), "username": c.user.Username},
		"projectId": number(project), "historyLineCount": r.HistoryLines, "eventsLineCount": r.EventLines, "logLineCount": r.LogLines,
		"project":        object{"__typename": "Project", "id": project, "internalId": number(project), "name": project, "entityName": entity, "entity": object{"__typename": "Entity", "id": entity, "name": entity}},
		"runInfo":        object{"program": orNull(r.Program), "host": orNull(r.Host)},
		"historyKeys":    func(args) (any, error) { return historyKeys(r), nil },
		"historyTail":    func(args) (any, error) { return c.historyTail(r) },
		"eventsTail":     func(args) (any, error) { return store.WandbLines(lines(r.Events)), nil },
		"wandbConfig":    func(a args) (any, error) { return ownConfig(r.Config, a.texts("keys")), nil },
		"history":        func(a args) (any, error) { return c.history(r, a, false) },
		"events":         func(a args) (any, error) { return c.history(r, a, true) },
		"sampledHistory": func(a args) (any, error) { return c.sampledHistory(r, a) },
		"parquetHistory": object{"parquetUrls": []string{}, "liveData": []any{}},
		"fileCount":      func(args) (any, error) { return c.fileCount(r) },
		"files":          func(a args) (any, error) { return c.files(entity, project, r, a) },
		"logLines":       func(a args) (any, error) { return c.logLines(r, a) },
		"outputArtifacts": func(a args) (any, error) {
			all, err := c.db.WandbArtifacts(c.ctx, c.actor, store.WandbArtifactQuery{IterationID: r.ID})
			if err != nil {
				return nil, err
			}
			return c.artifactPage(entity, all, a)
		},
		"inputArtifacts": func(a args) (any, error) {
			all, err := c.db.WandbArtifacts(c.ctx, c.actor, store.WandbArtifactQuery{UsedBy: r.ID})
			if err != nil {
				return nil, err
			}
			return c.artifactPage(entity, all, a)
		},
	}
	if r.Snapshot != nil && r.Snapshot.GitSHA != "" {
		o["commit"] = r.Snapshot.GitSHA
	}
	return o
}

func tagsOf(r *store.WandbRecord) []string {
	if r.Tags == nil {
		return []string{}
	}
	return r.Tags
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func orEmpty(s string) string {
	if s == "" {
		return "{}"
	}
	return s
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// ownConfig returns what clients keep of themselves in a configuration: those of keys
// that are there.
func ownConfig(config string, keys []string) string {
	var kept []wandb.Member
	own := member(member(config, "_wandb"), "value")
	for _, key := range keys {
		if v := member(own, key); v != "" {
			kept = append(kept, wandb.Member{Key: key, Value: v})
		}
	}
	if len(kept) == 0 {
		// Without it the run counts as one that is not there.
		return `{"t":{}}`
	}
	return wandb.Object(kept)
}

// member returns a member of an object of JSON, "" when there is none.
func member(text, key string) string {
	members, err := wandb.Members(text)
	if err != nil {
		return ""
	}
	for _, m := range members {
		if m.Key == key {
			return m.Value
		}
	}
	return ""
}

// keyType is how often a metric has values of a type.
type keyType struct {
	Type  string `json:"type"`
	Count int64  `json:"count"`
}

type keyInfo struct {
	Types    []keyType    `json:"typeCounts"`
	Previous scalar.Value `json:"previousValue"`
	Monotone bool         `json:"monotonic"`
}

type allKeys struct {
	Last int64              `json:"lastStep"`
	Sets []any              `json:"sets"`
	Keys map[string]keyInfo `json:"keys"`
}

// historyKeys returns the names of what is in the history of a run.
func historyKeys(r *store.WandbRecord) any {
	out := allKeys{Last: lastStep(r), Sets: []any{}, Keys: map[string]keyInfo{}}
	count := max(1, r.HistoryLines)
	for _, m := range r.Metrics {
		if strings.HasPrefix(m.Key, "system/") || strings.HasPrefix(m.Key, "summary/") {
			continue
		}
		name := m.Key
		if p := r.Paths[m.Key]; p != nil {
			name = strings.Join(p, ".")
		}
		out.Keys[name] = keyInfo{Types: []keyType{{"number", count}}, Previous: m.Value}
	}
	for _, name := range []string{"_step", "_timestamp", "_runtime"} {
		if len(out.Keys) > 0 {
			out.Keys[name] = keyInfo{Types: []keyType{{"number", count}}, Previous: scalar.Value(out.Last), Monotone: true}
		}
	}
	return out
}

// lastStep returns the last step of the history of a run, -1 when it has none.
func lastStep(r *store.WandbRecord) int64 {
	last := int64(-1)
	if r.HistoryLines > 0 {
		last = int64(r.LastStep)
	}
	for _, m := range r.Metrics {
		if !strings.HasPrefix(m.Key, "system/") && !strings.HasPrefix(m.Key, "summary/") {
			last = max(last, int64(m.Step))
		}
	}
	return last
}

// historyTail returns the last row of the history, as a list of one.
func (c *call) historyTail(r *store.WandbRecord) (any, error) {
	last := lastStep(r)
	if last < 0 {
		return "[]", nil
	}
	rows, err := c.db.WandbHistory(c.ctx, c.actor, r.ID, store.WandbHistoryQuery{From: scalar.Step(last), To: scalar.Step(last + 1), Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		rows = []store.WandbStep{{Step: scalar.Step(last), At: r.Last}}
	}
	return store.WandbLines([]string{rows[0].Text(startOf(r))}), nil
}

func startOf(r *store.WandbRecord) scalar.Time {
	if r.Start > 0 {
		return r.Start
	}
	return r.CreatedDate
}

// history returns rows of the history, or of the metrics of the system, as texts.
func (c *call) history(r *store.WandbRecord, a args, system bool) (any, error) {
	q := store.WandbHistoryQuery{From: scalar.Step(a.number("minStep", math.MinInt64)), To: scalar.Step(a.number("maxStep", math.MaxInt64)),
		System: system, Limit: store.MaxWandbRows, Samples: int(max(0, min(a.number("samples", 0), store.MaxWandbRows)))}
	rows, err := c.db.WandbHistory(c.ctx, c.actor, r.ID, q)
	if err != nil {
		return nil, err
	}
	rows = sample(rows, q.Samples)
	out := make([]string, len(rows))
	for i, row := range rows {
		if system {
			row = systemRow(row)
		}
		out[i] = row.Text(startOf(r))
	}
	return out, nil
}

// systemRow returns a row of the metrics of the system under the names of W&B.
func systemRow(row store.WandbStep) store.WandbStep {
	members := make([]wandb.Member, len(row.Members))
	for i, m := range row.Members {
		members[i] = wandb.Member{Key: "system." + strings.TrimPrefix(m.Key, "system/"), Value: m.Value}
	}
	row.Members = members
	return row
}

// sample returns up to n rows, evenly spread.
func sample[T any](all []T, n int) []T {
	if n <= 0 || len(all) <= n {
		return all
	}
	some := make([]T, 0, n)
	for i := range n {
		some = append(some, all[i*len(all)/n])
	}
	return some
}

// sampleSpec is one question of sampledHistory.
type sampleSpec struct {
	Keys    []string `json:"keys"`
	Samples int64    `json:"samples"`
	Min     *int64   `json:"minStep"`
	Max     *int64   `json:"maxStep"`
}

// sampledHistory returns the rows that have all of some keys, for each question.
func (c *call) sampledHistory(r *store.WandbRecord, a args) (any, error) {
	var out []any
	for _, text := range a.texts("specs") {
		var spec sampleSpec
		if err := json.Unmarshal([]byte(text), &spec, json.AllowDuplicateNames(true)); err != nil {
			return nil, store.Invalid("specs", "A question for rows of the history must be a JSON object with keys and samples.")
		}
		n := spec.Samples
		if n <= 0 {
			n = 500
		}
		q := store.WandbHistoryQuery{From: math.MinInt64, To: math.MaxInt64, Limit: store.MaxWandbRows, Samples: int(min(n, store.MaxWandbRows)),
			Keep: func(row store.WandbStep) bool {
				_, ok := pick(row, spec.Keys, startOf(r))
				return ok
			}}
		if spec.Min != nil {
			q.From = scalar.Step(*spec.Min)
		}
		if spec.Max != nil {
			q.To = scalar.Step(*spec.Max)
			// Newer clients mean the last step, and ask for as many samples as there are.
			if spec.Min != nil && spec.Samples == *spec.Max-*spec.Min+1 {
				q.To++
			}
		}
		rows, err := c.db.WandbHistory(c.ctx, c.actor, r.ID, q)
		if err != nil {
			return nil, err
		}
		var kept []any
		for _, row := range rows {
			if picked, ok := pick(row, spec.Keys, startOf(r)); ok {
				kept = append(kept, picked)
			}
		}
		if kept == nil {
			kept = []any{}
		}
		out = append(out, sample(kept, q.Samples))
	}
	return out, nil
}

// pick returns the values of a row for some keys; ok reports whether it has all of
// them.
func pick(row store.WandbStep, keys []string, start scalar.Time) (picked map[string]any, ok bool) {
	text := row.Text(start)
	picked = map[string]any{}
	for _, key := range keys {
		value := member(text, key)
		if value == "" {
			in := text
			for part := range strings.SplitSeq(key, ".") {
				if in = member(in, part); in == "" {
					return nil, false
				}
			}
			value = in
		}
		picked[key] = jsonValue(value)
	}
	return picked, true
}

// jsonValue returns a value as JSON has it: NaN and the infinities are texts.
func jsonValue(text string) any {
	switch text {
	case "NaN", "Infinity", "-Infinity":
		return text
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)); err != nil {
		return text
	}
	return v
}

func (c *call) fileCount(r *store.WandbRecord) (any, error) {
	l, err := c.db.Artifacts(c.ctx, c.actor, r.ExperimentID, store.ArtifactQuery{IterationID: &r.ID, Page: store.Page{Limit: 1}})
	return l.Total, err
}

// files returns the files of a run, a page of them; with upload, the addresses that
// files of these names are to be sent to.
func (c *call) files(entity, project string, r *store.WandbRecord, a args) (any, error) {
	names := a.texts("names")
	for i := range names {
		names[i] = cleanName(names[i])
	}
	node := func(id, name string) object {
		return object{"__typename": "File", "id": id, "name": name, "url": c.fileURL(entity, project, r.RunID, name),
			"uploadUrl": func(args) (any, error) { return c.linkURL(entity, project, r.RunID, name) },
			"directUrl": func(args) (any, error) { return c.linkURL(entity, project, r.RunID, name) }}
	}
	if a.truth("upload") {
		var nodes []object
		for _, name := range names {
			n := node("", name)
			n["url"] = n["uploadUrl"]
			nodes = append(nodes, n)
		}
		page := connection(nodes)
		page["uploadHeaders"] = []string{}
		return page, nil
	}
	limit := int(max(1, min(a.number("first", 1000), store.MaxLimit)))
	offset, err := offsetOf(a.str("after"))
	if err != nil {
		return nil, err
	}
	var edges []object
	for {
		l, err := c.db.Artifacts(c.ctx, c.actor, r.ExperimentID, store.ArtifactQuery{IterationID: &r.ID, Page: store.Page{Limit: limit, Offset: offset}})
		if err != nil {
			return nil, err
		}
		for _, f := range l.Data {
			offset++
			if !wantedFile(f.Name, names, a.str("pattern")) {
				continue
			}
			n := node(f.ID, f.Name)
			n["sizeBytes"], n["mimetype"], n["updatedAt"], n["md5"] = itoa(f.SizeBytes), f.ContentType, isoTime(f.UpdatedDate), nil
			edges = append(edges, object{"node": n, "cursor": itoa(int64(offset))})
			if len(edges) == limit {
				break
			}
		}
		if len(edges) == limit || offset >= l.Total || len(l.Data) == 0 {
			page := pageOf(edges, itoa(int64(offset)), offset < l.Total)
			page["uploadHeaders"] = []string{}
			return page, nil
		}
	}
}

// wantedFile reports whether a file has one of the names, and fits the pattern, in
// which % is any text.
func wantedFile(name string, names []string, pattern string) bool {
	if len(names) > 0 {
		for _, n := range names {
			if transfer.FitPath(n) == name {
				return true
			}
		}
		return false
	}
	return pattern == "" || like(name, strings.Split(pattern, "%"))
}

// like reports whether a text has parts in their order, the first at its beginning and
// the last at its end.
func like(s string, parts []string) bool {
	if len(parts) == 1 {
		return s == parts[0]
	}
	s, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return strings.HasSuffix(s, parts[len(parts)-1])
}

// maxLogLines bounds the lines that are returned at once.
const maxLogLines = 10_000

// logLines returns the last lines that a run has printed.
func (c *call) logLines(r *store.WandbRecord, a args) (any, error) {
	n := int(max(1, min(a.number("last", maxLogLines), a.number("first", maxLogLines), maxLogLines)))
	edges := []object{}
	err := c.db.View(c.ctx, c.actor, func(v *store.View) error {
		last, err := v.Console(r.ID, store.ConsoleQuery{Limit: 1})
		if err != nil {
			return err
		}
		for from := max(last.First, last.Next-int64(n)); from < last.Next; {
			part, err := v.Console(r.ID, store.ConsoleQuery{From: &from, Limit: store.MaxLimit})
			if err != nil || len(part.Lines) == 0 {
				return err
			}
			for _, line := range part.Lines {
				edges = append(edges, object{"cursor": itoa(line.Number), "node": object{"__typename": "LogLine", "id": itoa(line.Number),
					"line": line.Text, "number": line.Number, "level": "info", "label": nil, "timestamp": isoTime(line.WrittenDate)}})
				from = line.Number + 1
			}
		}
		return nil
	})
	return pageOf(edges, "", false), err
}

// loose returns a value as JSON has it, also where there is something in it that JSON does
// not have.
func loose(text string) any {
	members, err := wandb.Members(text)
	if err != nil {
		return jsonValue(text)
	}
	out := map[string]any{}
	for _, m := range members {
		out[m.Key] = loose(m.Value)
	}
	return out
}
