// Package difference describes how the two sides of a comparison differ. A side is a run, or a
// group of runs that were repeated with other random seeds. Of returns the parameters, packages,
// code, environment and data that differ, and the difference of the objective.
// Difference.Sentence summarizes them in one sentence.
//
// The package uses only the values that the caller passes. It does not read the database.
package difference

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tracker/store/goal"
	"tracker/store/patch"
)

// Run holds the data of a run that are compared.
type Run struct {
	ID     string
	Params map[string]string
	Value  *float64 // best value of the objective, nil for none

	// The following fields are "" if the run did not record them.
	GitSHA, GitDiff string
	Dependencies    string
	Runtime         string
	Hostname        string
	Entrypoint      string
	Command         string

	Data []Datum // datasets that the run has read
}

// Datum identifies a version of a dataset.
type Datum struct{ Name, Digest string }

// Difference holds the values that differ between two sides, A and B.
type Difference struct {
	Params      []Change  // parameters that differ, without seeds
	Seeds       []Change  // parameters that hold seeds
	Packages    []Package // empty if a side recorded no packages
	Environment []Change  // runtime, host, entry point and command
	Data        []Change  // datasets, with their digests
	Code        Code
	Outcome     Outcome
}

// maxValues is the maximum number of different values that a Change lists for a side.
const maxValues = 5

// Change is a value that differs between the sides. A and B list the different values of the runs
// on each side, separated by commas. They are "" if no run has the value.
type Change struct {
	Name   string
	A, B   string
	Ratio  float64 // B divided by A if both are numbers of the same sign; 0 otherwise
	Varies bool    // whether the runs on a side have different values
}

// PackageChange is the kind of the difference between two versions of a package.
type PackageChange string

// Values of PackageChange.
const (
	Newer   PackageChange = "newer"
	Older   PackageChange = "older"
	Added   PackageChange = "added"
	Removed PackageChange = "removed"
	Changed PackageChange = "changed" // the order of the versions is unknown
)

// Package is a package whose version differs.
type Package struct {
	Change
	Kind PackageChange
}

// Code holds the differences between the code of two sides.
type Code struct {
	CommitA, CommitB string       // "" if the side recorded no commit, or several
	Files            []patch.File // differences between working trees of the same commit
	Note             string       // reason why the code is not compared, "" if it is compared
}

// Of returns the differences between two sides. Both sides must have at least one run. repeats
// are the finished runs of the experiment; see NewOutcome. o is nil if there is no objective.
func Of(a, b []Run, repeats []Repeat, o *goal.Objective) Difference {
	d := Difference{Code: codeOf(a, b), Outcome: NewOutcome(a, b, repeats, o)}
	for _, c := range changesOf(a, b, func(r Run) map[string]string { return r.Params }) {
		if IsSeed(c.Name) {
			d.Seeds = append(d.Seeds, c)
		} else {
			d.Params = append(d.Params, c)
			d.Outcome.Mixed = d.Outcome.Mixed || c.Varies
		}
	}
	d.Outcome.Mixed = d.Outcome.Mixed || varying(a) || varying(b)
	d.Packages = packagesOf(a, b)
	for _, e := range []struct {
		name string
		of   func(Run) string
	}{
		{"Runtime", func(r Run) string { return r.Runtime }}, {"Host", func(r Run) string { return r.Hostname }},
		{"Entry point", func(r Run) string { return r.Entrypoint }}, {"Command", func(r Run) string { return r.Command }},
	} {
		d.Environment = append(d.Environment, changesOf(a, b, func(r Run) map[string]string {
			if text := e.of(r); text != "" {
				return map[string]string{e.name: text}
			}
			return nil
		})...)
	}
	d.Data = changesOf(a, b, func(r Run) map[string]string {
		digests := map[string]string{}
		for _, one := range r.Data {
			if there, ok := digests[one.Name]; ok {
				digests[one.Name] = there + " " + one.Digest
			} else {
				digests[one.Name] = one.Digest
			}
		}
		return digests
	})
	return d
}

// varying reports whether runs on a side differ in more than seeds.
func varying(side []Run) bool {
	first := KeyOf(side[0])
	return slices.ContainsFunc(side[1:], func(r Run) bool { return KeyOf(r) != first })
}

// IsSeed reports whether a parameter with this name holds a random seed. It looks at the part of
// the name after the last dot or slash, which must contain the word seed or rng, or be one of a
// few names such as random_state.
func IsSeed(name string) bool {
	name = strings.ToLower(name)
	name = name[strings.LastIndexAny(name, "./")+1:]
	words := strings.FieldsFunc(name, func(c rune) bool { return c == '_' || c == '-' || c == ' ' })
	return slices.Contains(words, "seed") || slices.Contains(words, "rng") ||
		slices.Contains([]string{"random_state", "randomstate", "randomseed"}, name)
}

// IsRepeat reports whether a parameter with this name only distinguishes repetitions of the same
// settings: a seed, or the number of a fold or repetition.
func IsRepeat(name string) bool {
	last := strings.ToLower(name[strings.LastIndexAny(name, "./")+1:])
	return IsSeed(name) || slices.Contains([]string{"fold", "fold_id", "repeat", "repetition", "replicate"}, last)
}

// changesOf returns the values that differ, in alphabetical order of their names.
func changesOf(a, b []Run, of func(Run) map[string]string) []Change {
	valuesA, valuesB := valuesOf(a, of), valuesOf(b, of)
	names := map[string]bool{}
	for name := range valuesA {
		names[name] = true
	}
	for name := range valuesB {
		names[name] = true
	}
	var all []Change
	for _, name := range slices.Sorted(maps.Keys(names)) {
		va, vb := valuesA[name], valuesB[name]
		if va.equal(vb, len(a), len(b)) {
			continue
		}
		c := Change{Name: name, A: va.text(), B: vb.text()}
		c.Varies = va.varies(len(a)) || vb.varies(len(b))
		if !c.Varies {
			c.Ratio = ratio(c.A, c.B)
		}
		all = append(all, c)
	}
	return all
}

// values holds the values of a parameter on a side.
type values struct {
	texts []string // distinct values
	runs  int      // number of runs that have the parameter
	seen  map[string]bool
}

func valuesOf(side []Run, of func(Run) map[string]string) map[string]*values {
	all := map[string]*values{}
	for _, r := range side {
		for name, text := range of(r) {
			v := all[name]
			if v == nil {
				v = &values{seen: map[string]bool{}}
				all[name] = v
			}
			if v.runs++; !v.seen[text] {
				v.seen[text] = true
				v.texts = append(v.texts, text)
			}
		}
	}
	return all
}

func (v *values) equal(w *values, runsV, runsW int) bool {
	return v != nil && w != nil && maps.Equal(v.seen, w.seen) && (v.runs < runsV) == (w.runs < runsW)
}

func (v *values) varies(runs int) bool {
	return v != nil && (len(v.texts) > 1 || v.runs < runs)
}

func (v *values) text() string {
	if v == nil {
		return ""
	}
	texts := slices.Clone(v.texts)
	slices.SortFunc(texts, func(a, b string) int {
		x, okX := number(a)
		y, okY := number(b)
		if okX && okY {
			return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
		}
		return cmp.Compare(a, b)
	})
	if len(texts) > maxValues {
		texts = append(texts[:maxValues], "…")
	}
	return strings.Join(texts, ", ")
}

func number(text string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return f, err == nil && f-f == 0
}

// ratio returns b divided by a, or 0 if a and b are not numbers of the same sign.
func ratio(a, b string) float64 {
	x, okX := number(a)
	y, okY := number(b)
	if !okX || !okY || x == 0 || y == 0 || (x < 0) != (y < 0) {
		return 0
	}
	if r := y / x; r-r == 0 {
		return r
	}
	return 0
}

// codeOf compares the code of two sides.
func codeOf(a, b []Run) (c Code) {
	shaA, diffA, okA := codeOfSide(a)
	shaB, diffB, okB := codeOfSide(b)
	c.CommitA, c.CommitB = shaA, shaB
	switch {
	case !okA || !okB:
		c.Note = "The runs on one side have different code."
	case shaA == "" && diffA == "" && shaB == "" && diffB == "":
		c.Note = "The runs have not recorded their code."
	case shaA == "" && diffA == "" || shaB == "" && diffB == "":
		c.Note = "Only one side has recorded its code."
	case shaA != shaB:
		c.Note = "The commits differ. Use Git to see the changed lines."
	default:
		var ok bool
		if c.Files, ok = patch.Between(diffA, diffB); !ok {
			c.Note = "The recorded changes are not in the format of git diff."
			if diffA == diffB {
				c.Note = ""
			}
		}
	}
	return c
}

// codeOfSide returns the commit and the uncommitted changes of the runs on a side. ok is false if
// they differ between the runs.
func codeOfSide(side []Run) (sha, diff string, ok bool) {
	sha, diff = side[0].GitSHA, side[0].GitDiff
	for _, r := range side[1:] {
		if r.GitSHA != sha {
			return "", "", false
		}
		if r.GitDiff != diff {
			return sha, "", false
		}
	}
	return sha, diff, true
}

// Packages parses recorded dependencies and returns versions by package name. Lines have the form
// "name==1.2" or "name @ address". Any other line is a package name without a version.
func Packages(dependencies string) map[string]string {
	packages := map[string]string{}
	for line := range strings.Lines(dependencies) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, version, ok := strings.Cut(line, "==")
		if !ok {
			name, version, ok = strings.Cut(line, " @ ")
		}
		if !ok {
			name, version = line, "installed"
		}
		packages[strings.TrimSpace(name)] = strings.TrimSpace(version)
	}
	return packages
}

// packagesOf compares the packages of the two sides. It ignores runs that have not recorded
// packages.
func packagesOf(a, b []Run) []Package {
	recorded := func(side []Run) []Run {
		return slices.DeleteFunc(slices.Clone(side), func(r Run) bool { return r.Dependencies == "" })
	}
	if a, b = recorded(a), recorded(b); len(a) == 0 || len(b) == 0 {
		return nil
	}
	parsed := map[string]map[string]string{} // most runs on a side have the same dependencies
	var all []Package
	for _, c := range changesOf(a, b, func(r Run) map[string]string {
		if parsed[r.Dependencies] == nil {
			parsed[r.Dependencies] = Packages(r.Dependencies)
		}
		return parsed[r.Dependencies]
	}) {
		p := Package{Change: c, Kind: Changed}
		p.Ratio = 0
		switch order := compareVersions(c.A, c.B); {
		case c.Varies:
		case c.A == "":
			p.Kind = Added
		case c.B == "":
			p.Kind = Removed
		case order < 0:
			p.Kind = Newer
		case order > 0:
			p.Kind = Older
		}
		all = append(all, p)
	}
	return all
}

// compareVersions compares the numbers at the beginnings of two versions, such as 2.10.1. It
// returns 0 if they are equal or not numbers.
func compareVersions(a, b string) int { return slices.Compare(release(a), release(b)) }

func release(version string) []uint64 {
	var all []uint64
	for part := range strings.SplitSeq(version, ".") {
		end := 0
		for end < len(part) && '0' <= part[end] && part[end] <= '9' {
			end++
		}
		n, err := strconv.ParseUint(part[:end], 10, 64)
		if err != nil {
			break
		}
		if all = append(all, n); end < len(part) {
			break
		}
	}
	for len(all) > 0 && all[len(all)-1] == 0 {
		all = all[:len(all)-1] // 2.0 equals 2
	}
	return all
}
