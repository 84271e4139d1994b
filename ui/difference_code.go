package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"tracker/store"
	"tracker/store/difference"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/patch"
	"tracker/ui/plain"
)

const (
	maxCodeFiles = 30        // maximum number of files with changed code
	maxCodeLines = 400       // maximum number of lines of code
	maxCodeLine  = 300       // maximum number of characters of a line of code
	maxSource    = 256 << 10 // maximum size in bytes of an artifact that is compared as code
	maxSources   = 20        // maximum number of artifacts that are compared as code
)

// codeView shows the differences between the code of two sides.
type codeView struct {
	Title   string
	Note    string    // reason why the code is not compared, "" for none
	Commits [2]string // commits of the sides, "" for none or several
	Command string    // command that shows the lines between two commits, "" for none
	Link    string    // address of a page with the lines between two commits, "" for none
	Files   []codeFile
	More    string // note about omitted files and lines, "" for none

	pairs []sourcePair // artifacts to compare
	lines int          // number of lines in Files
}

// codeFile is a file that differs. Its blocks have the lines in order.
type codeFile struct {
	Name           string
	Added, Removed int
	Note           string
	Blocks         []codeBlock
}

// codeBlock is a sequence of unchanged lines, or of removed lines beside added lines.
type codeBlock struct {
	Skipped string // text for omitted lines before the block, "" for none
	Same    bool
	A, B    []codeLine
}

type codeLine struct {
	Number int
	Text   string
}

// newCodeView returns the view of the difference between the code of two sides. remote is the
// address of the repository.
func newCodeView(c difference.Code, remote string) *codeView {
	v := &codeView{Title: "Code", Note: c.Note, Commits: [2]string{c.CommitA, c.CommitB}}
	if c.CommitA != "" && c.CommitB != "" && c.CommitA != c.CommitB {
		if isCommit(c.CommitA) && isCommit(c.CommitB) {
			v.Command = "git diff " + c.CommitA + " " + c.CommitB
			v.Link = commitsPage(remote, c.CommitA, c.CommitB)
		}
	}
	for _, f := range c.Files {
		v.add(f)
	}
	return v
}

func isCommit(sha string) bool {
	return len(sha) >= 7 && len(sha) <= 64 && strings.Trim(sha, "0123456789abcdef") == ""
}

// commitsPage returns the address of GitHub's or GitLab's page for the lines between two commits.
// It returns "" for other hosts.
func commitsPage(remote, a, b string) string {
	if host, rest, ok := strings.Cut(strings.TrimPrefix(remote, "git@"), ":"); ok && strings.HasPrefix(remote, "git@") {
		remote = "https://" + host + "/" + rest
	}
	u, err := url.Parse(strings.TrimSuffix(remote, ".git"))
	if err != nil || u.Scheme != "https" || u.User != nil || u.Host != "github.com" && u.Host != "gitlab.com" {
		return ""
	}
	return (&url.URL{Scheme: "https", Host: u.Host, Path: path.Join(u.Path, "compare", a+"..."+b)}).String()
}

// add adds a file that differs, as long as there is space for it.
func (v *codeView) add(f patch.File) {
	if len(v.Files) == maxCodeFiles {
		v.More = "More files differ."
		return
	}
	file := codeFile{Name: f.Name, Added: f.Added, Removed: f.Removed, Note: f.Note}
	for _, h := range f.Hunks {
		if v.lines+len(h.Lines) > maxCodeLines {
			v.More = fmt.Sprintf("Only the first %d lines are shown.", v.lines)
			if len(h.Lines) <= maxCodeLines || v.lines > 0 {
				break
			}
			h.Lines = h.Lines[:maxCodeLines]
			v.More = fmt.Sprintf("Only the first %d lines are shown.", maxCodeLines)
		}
		v.lines += len(h.Lines)
		file.Blocks = append(file.Blocks, blocksOf(h)...)
	}
	v.Files = append(v.Files, file)
}

// blocksOf divides the lines of a hunk into blocks.
func blocksOf(h patch.Hunk) (all []codeBlock) {
	skipped := ""
	switch {
	case h.Before < 0:
		skipped = "⋯"
	case h.Before > 0:
		skipped = plain.Counted(h.Before, "unchanged line", "unchanged lines")
	}
	for _, l := range h.Lines {
		same := l.Kind == patch.Same
		if len(all) == 0 || all[len(all)-1].Same != same {
			all = append(all, codeBlock{Same: same, Skipped: skipped})
			skipped = ""
		}
		block, text := &all[len(all)-1], plain.Clip(plain.Readable(l.Text), maxCodeLine)
		if l.Kind != patch.Added {
			block.A = append(block.A, codeLine{l.A, text})
		}
		if l.Kind != patch.Removed {
			block.B = append(block.B, codeLine{l.B, text})
		}
	}
	return all
}

// sourcePair is a source file that two runs have logged as artifacts with different contents.
type sourcePair struct {
	name string
	a, b *files.Artifact // nil if the run has no such file
}

// sources holds the endings of artifacts that are compared as code.
var sources = []string{".py", ".ipynb", ".sh", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".json", ".go", ".rs", ".c", ".cc", ".cpp", ".h",
	".cu", ".java", ".js", ".ts", ".jl", ".r", ".lua", ".m", ".sql", ".diff", ".patch"}

// sourcePairs returns the source files that two runs have logged under the same name with
// different contents, up to maxSources files.
func sourcePairs(db *store.View, a, b string) (pairs []sourcePair, err error) {
	all, _, err := db.Files.MadeArtifacts([]string{a, b})
	if err != nil {
		return nil, err
	}
	latest := [2]map[string]*files.Artifact{{}, {}}
	for i, r := range all {
		if r.IterationID == nil || r.SizeBytes > maxSource || !slices.Contains(sources, strings.ToLower(path.Ext(r.Name))) {
			continue
		}
		side := 0
		if *r.IterationID == b {
			side = 1
		}
		latest[side][r.Name] = &all[i]
	}
	for _, name := range keys(latest[0]) {
		if old, now := latest[0][name], latest[1][name]; now != nil && old.ContentHash != now.ContentHash {
			pairs = append(pairs, sourcePair{name, old, now})
		}
	}
	slices.SortFunc(pairs, func(a, b sourcePair) int { return strings.Compare(a.name, b.name) })
	return pairs[:min(len(pairs), maxSources)], nil
}

// addSources adds the differences between source files that the runs have logged as artifacts.
func (s *site) addSources(ctx context.Context, actor domain.Actor, v *codeView) error {
	for _, p := range v.pairs {
		a, err := s.source(ctx, actor, p.a.ID)
		if err != nil {
			return err
		}
		b, err := s.source(ctx, actor, p.b.ID)
		if err != nil {
			return err
		}
		f := patch.Texts(p.name+" (artifact)", a, b)
		if strings.ContainsRune(a+b, 0) {
			f = patch.File{Name: f.Name, Note: "The file is binary."}
		}
		v.add(f)
	}
	return nil
}

// source returns the content of an artifact, or "" if it was deleted.
func (s *site) source(ctx context.Context, actor domain.Actor, id string) (string, error) {
	_, data, err := s.DB.Files.OpenArtifact(ctx, actor, id)
	if e := new(domain.Error); errors.As(err, &e) && e.Code == domain.CodeNotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer data.Close()
	text, err := io.ReadAll(io.LimitReader(data, maxSource))
	return string(text), err
}
