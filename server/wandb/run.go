package wandb

import (
	"crypto/rand"
	"path"
	"regexp"
	"strings"
	"time"

	"tracker/store"
	"tracker/store/collections"
	"tracker/store/console"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/json"
	"tracker/store/scalar"
	"tracker/store/transfer"
	"tracker/store/wandb"
	"tracker/store/wandb/format"
)

// newName returns a random run id.
func newName() string {
	const letters = "abcdefghijklmnopqrstuvwxyz012345" // 32 characters
	b := make([]byte, 8)
	rand.Read(b) // never returns an error
	for i := range b {
		b[i] = letters[b[i]%32]
	}
	return string(b)
}

// cleanName returns a file name with slashes as separators and without "..", "." and empty
// parts.
func cleanName(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
}

// run returns a run of a project, or nil if the run does not exist.
func (c *call) run(entity, project, name string) (any, error) {
	r, err := c.db.Wandb.Record(c.ctx, c.actor, project, name)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.runObject(entity, project, &r), nil
}

// stateOf returns W&B's name for the state of a run.
func stateOf(r *wandb.Record, now time.Time) string {
	switch r.Status {
	case domain.Succeeded:
		return "finished"
	case domain.Failed:
		return "failed"
	case domain.Killed:
		if r.ErrorMessage == "preempted" {
			return "preempted"
		}
		return "killed"
	}
	if r.Status.Lost(r.LastSeen, scalar.TimeOf(now)) {
		if r.Preempting {
			return "preempted"
		}
		return "crashed"
	}
	return "running"
}

// creatorOf returns the user who created a run. If the creator is unknown, it returns the caller,
// because clients require a user.
func (c *call) creatorOf(r *wandb.Record) object {
	name, username := fullName(c.user), c.user.Username
	if r.CreatedBy != nil && *r.CreatedBy != username {
		name, username = *r.CreatedBy, *r.CreatedBy
	}
	return object{"__typename": "User", "name": name, "username": username}
}

// runObject returns a run with all fields that clients query.
func (c *call) runObject(entity, project string, r *wandb.Record) object {
	if entity == "" {
		entity = c.user.Username
	}
	o := object{
		"__typename": "Run", "id": r.ID, "name": r.RunID, "displayName": r.Name, "notes": r.Notes, "description": r.Notes,
		"state": stateOf(r, c.s.auth.Now()), "config": r.Config, "summaryMetrics": r.Summary, "systemMetrics": orEmpty(r.Events),
		"group": orNull(r.Group), "groupName": orNull(r.Group), "jobType": orNull(r.JobType), "tags": tagsOf(r), "sweepName": orNull(r.Sweep),
		"createdAt": isoTime(r.CreatedDate), "heartbeatAt": isoTime(r.LastSeen), "updatedAt": isoTime(r.LastSeen),
		"host": orNull(r.Host), "jobProgram": orNull(r.Program), "commit": nil, "readOnly": false, "stopped": r.Status != domain.Running && !r.Complete || r.StopRequested != nil,
		"user":      c.creatorOf(r),
		"projectId": number(project), "historyLineCount": r.HistoryLines, "eventsLineCount": r.EventLines, "logLineCount": r.LogLines,
		"project":        object{"__typename": "Project", "id": project, "internalId": number(project), "name": project, "entityName": entity, "entity": object{"__typename": "Entity", "id": entity, "name": entity}},
		"runInfo":        object{"program": orNull(r.Program), "host": orNull(r.Host)},
		"historyKeys":    func(args) (any, error) { return historyKeys(r), nil },
		"historyTail":    func(args) (any, error) { return c.historyTail(r) },
		"eventsTail":     func(args) (any, error) { return textList(lines(r.Events)), nil },
		"wandbConfig":    func(a args) (any, error) { return ownConfig(r.Config, a.texts("keys")), nil },
		"history":        func(a args) (any, error) { return c.history(r, a, false) },
		"events":         func(a args) (any, error) { return c.history(r, a, true) },
		"sampledHistory": func(a args) (any, error) { return c.sampledHistory(r, a) },
		"parquetHistory": object{"parquetUrls": []string{}, "liveData": []any{}},
		"fileCount":      func(args) (any, error) { return c.fileCount(r) },
		"files":          func(a args) (any, error) { return c.files(entity, project, r, a) },
		"logLines":       func(a args) (any, error) { return c.logLines(r, a) },
		"outputArtifacts": func(a args) (any, error) {
			all, err := c.db.Collections.Versions(c.ctx, c.actor, collections.Search{IterationID: r.ID})
			if err != nil {
				return nil, err
			}
			return c.artifactPage(entity, versionMembers(all), a)
		},
		"inputArtifacts": func(a args) (any, error) {
			all, err := c.db.Collections.Versions(c.ctx, c.actor, collections.Search{IterationID: r.ID, UsedBy: true})
			if err != nil {
				return nil, err
			}
			return c.artifactPage(entity, versionMembers(all), a)
		},
	}
	if r.Snapshot != nil && r.Snapshot.GitSHA != "" {
		o["commit"] = r.Snapshot.GitSHA
	}
	return o
}

func tagsOf(r *wandb.Record) []string {
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

// textList returns a list of strings as JSON.
func textList(all []string) string {
	b, err := json.Marshal(all, json.AllowInvalidUTF8(true))
	if err != nil {
		return "[]" // encoding strings can't fail
	}
	return string(b)
}

// ownConfig returns the part of a configuration that the client stores for itself, reduced to the
// given keys.
func ownConfig(config string, keys []string) string {
	var kept []format.Member
	own := format.MemberOf(format.MemberOf(config, "_wandb"), "value")
	for _, key := range keys {
		if v := format.MemberOf(own, key); v != "" {
			kept = append(kept, format.Member{Key: key, Value: v})
		}
	}
	if len(kept) == 0 {
		// Clients treat an empty object as a missing run.
		return `{"t":{}}`
	}
	return format.Object(kept)
}

// keyType holds a value type and how many values of a metric have this type.
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

func (c *call) fileCount(r *wandb.Record) (any, error) {
	q := ownFiles(r)
	q.Limit = 1
	l, err := c.db.Files.Artifacts(c.ctx, c.actor, r.ExperimentID, q)
	return l.Total, err
}

// ownFiles returns a query for the files of a run, without the files of artifact versions that
// the run has logged.
func ownFiles(r *wandb.Record) files.ArtifactQuery {
	return files.ArtifactQuery{IterationID: &r.ID, WithoutVersions: true}
}

// files returns a page of the files of a run. If the page contains all files, it also lists the
// requested names that do not exist. If the argument "upload" is true, files returns only the
// upload addresses of the named files.
func (c *call) files(entity, project string, r *wandb.Record, a args) (any, error) {
	names := a.texts("names")
	wanted := map[string]bool{}
	for i := range names {
		names[i] = cleanName(names[i])
		wanted[transfer.FitPath(names[i])] = true
	}
	pattern := a.str("pattern")
	if len(pattern) > maxField {
		return nil, domain.Invalid("pattern", "A pattern can have at most %d bytes.", maxField)
	}
	parts := strings.Split(pattern, "%")
	node := func(id, name string) object {
		return object{"__typename": "File", "id": id, "name": name, "url": c.fileURL(entity, project, r.RunID, name),
			"uploadUrl": func(args) (any, error) { return c.linkURL(entity, project, r.RunID, name) },
			"directUrl": func(args) (any, error) { return c.linkURL(entity, project, r.RunID, name) }}
	}
	if a.truth("upload") {
		var nodes []object
		for _, name := range names {
			if err := c.takeNamed(name); err != nil {
				return nil, err
			}
			n := node("", name)
			n["url"] = n["uploadUrl"]
			nodes = append(nodes, n)
		}
		page := connection(nodes)
		page["uploadHeaders"] = []string{}
		return page, nil
	}
	limit := int(max(1, min(a.number("first", 1000), domain.MaxLimit)))
	offset, err := offsetOf(a.str("after"))
	if err != nil {
		return nil, err
	}
	q := ownFiles(r)
	whole := offset == 0
	var edges []object
	for {
		q.Page = domain.Page{Limit: limit, Offset: offset}
		l, err := c.db.Files.Artifacts(c.ctx, c.actor, r.ExperimentID, q)
		if err != nil {
			return nil, err
		}
		for _, f := range l.Data {
			offset++
			_, named := wanted[f.Name]
			if named {
				wanted[f.Name] = false
			}
			if len(names) > 0 && !named || len(names) == 0 && pattern != "" && !like(f.Name, parts) {
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
			if whole && offset >= l.Total {
				for _, name := range names {
					if !wanted[transfer.FitPath(name)] {
						continue
					}
					wanted[transfer.FitPath(name)] = false
					if err := c.takeNamed(name); err != nil {
						return nil, err
					}
					// Clients recognize a missing file by this MD5 value.
					n := node("", name)
					n["sizeBytes"], n["mimetype"], n["updatedAt"], n["md5"] = "0", typeOf("", name), nil, "0"
					edges = append(edges, object{"node": n, "cursor": itoa(int64(offset))})
				}
			}
			page := pageOf(edges, itoa(int64(offset)), offset < l.Total)
			page["uploadHeaders"] = []string{}
			return page, nil
		}
	}
}

// like reports whether s contains the given parts in order. s must begin with the first part
// and end with the last part.
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

// maxLogLines is the maximum number of log lines in a response. Together, the lines have at
// most maxPage bytes.
const maxLogLines = 10_000

// lineLabel matches the label of the writer, with which clients begin each line that they print to a
// run with several writers.
var lineLabel = regexp.MustCompile(`^\[([^\]]+)\] `)

// logLines returns output lines of a run: the last lines, or the page after a cursor, which is the
// number of the line before the page.
func (c *call) logLines(r *wandb.Record, a args) (any, error) {
	isLast := a["last"] != nil
	n := int(max(1, min(a.number("last", maxLogLines), a.number("first", maxLogLines), maxLogLines)))
	edges := []object{}
	var sizes []int // size of each line, in bytes
	more := false
	err := c.db.View(c.ctx, c.actor, func(v *store.View) error {
		end, err := v.Runs.Console(r.ID, console.Query{Limit: 1})
		if err != nil {
			return err
		}
		from := end.First
		if isLast {
			from = max(from, end.Next-int64(n))
		} else if after := a.str("after"); after != "" {
			last, err := offsetOf(after)
			if err != nil {
				return err
			}
			from = max(from, int64(last)+1)
		}
		for size := 0; from < end.Next; {
			part, err := v.Runs.Console(r.ID, console.Query{From: &from, Limit: domain.MaxLimit})
			if err != nil || len(part.Lines) == 0 {
				return err
			}
			for _, line := range part.Lines {
				if !isLast && (len(edges) == n || size > maxPage) {
					more = true
					return nil
				}
				label, text := any(nil), line.Text
				if m := lineLabel.FindStringSubmatch(text); r.Shared && m != nil {
					label, text = m[1], text[len(m[0]):]
				}
				edges = append(edges, object{"cursor": itoa(line.Number), "node": object{"__typename": "LogLine", "id": itoa(line.Number),
					"line": text, "number": line.Number, "level": "info", "label": label, "timestamp": isoTime(line.WrittenDate)}})
				sizes = append(sizes, len(line.Text))
				for size += len(line.Text); isLast && size > maxPage; {
					size -= sizes[0]
					edges, sizes = edges[1:], sizes[1:]
				}
				from = line.Number + 1
			}
		}
		return nil
	})
	return pageOf(edges, "", more), err
}

// loose decodes text as JSON. NaN and infinities are not valid JSON and are converted to
// strings.
func loose(text string) any {
	members, err := format.Members(text)
	if err != nil {
		return jsonValue(text)
	}
	out := map[string]any{}
	for _, m := range members {
		out[m.Key] = loose(m.Value)
	}
	return out
}
