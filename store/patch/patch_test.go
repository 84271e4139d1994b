package patch

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// text returns a difference in the format of git diff, without headers.
func text(f File) string {
	var b strings.Builder
	for _, h := range f.Hunks {
		fmt.Fprintf(&b, "@%d\n", h.Before)
		for _, l := range h.Lines {
			fmt.Fprintf(&b, "%c%s|%d|%d\n", l.Kind, l.Text, l.A, l.B)
		}
	}
	return b.String()
}

const cosine = `diff --git a/train.py b/train.py
--- a/train.py
+++ b/train.py
@@ -41,5 +41,5 @@ def schedule(step, peak, warm_up):
     if step < warm_up:
         return peak * step / warm_up
-    return peak
+    return peak * cosine(step)
 
 def main():
`

func TestBetween(t *testing.T) {
	constant := strings.Replace(cosine, "+    return peak * cosine(step)", "+    return peak / 2\n+    # half", 1)
	constant = strings.Replace(constant, "+41,5", "+41,6", 1)
	// An earlier change moves the lines of the second version.
	constant = strings.Replace(constant, "@@ -41,5 +41,6", "@@ -1,1 +1,2 @@\n import math\n+import numpy\n@@ -41,5 +42,6", 1)
	for _, c := range []struct{ name, a, b, want string }{
		{"both changed", cosine, constant, "@-1\n import math|1|1\n+import numpy|0|2\n" +
			"@-1\n     if step < warm_up:|41|42\n         return peak * step / warm_up|42|43\n-    return peak * cosine(step)|43|0\n" +
			"+    return peak / 2|0|44\n+    # half|0|45\n |44|46\n def main():|45|47\n"},
		{"one changed", "", cosine, "@-1\n     if step < warm_up:|41|41\n         return peak * step / warm_up|42|42\n-    return peak|43|0\n" +
			"+    return peak * cosine(step)|0|43\n |44|44\n def main():|45|45\n"},
		{"undone", cosine, "", "@-1\n     if step < warm_up:|41|41\n         return peak * step / warm_up|42|42\n-    return peak * cosine(step)|43|0\n" +
			"+    return peak|0|43\n |44|44\n def main():|45|45\n"},
	} {
		files, ok := Between(c.a, c.b)
		if !ok || len(files) != 1 || files[0].Name != "train.py" || text(files[0]) != c.want {
			t.Errorf("%s: %v\n%s", c.name, ok, text(files[0]))
		}
	}
	if files, ok := Between(cosine, cosine); !ok || len(files) > 0 {
		t.Errorf("equal diffs: %v %v", files, ok)
	}
	if _, ok := Between("-old\n+new", cosine); ok {
		t.Error("a text is a diff")
	}
	if _, ok := Between(strings.Replace(cosine, "-    return peak\n", "-    return other\n", 1), cosine); ok {
		t.Error("diffs of different commits were merged")
	}
	files, ok := Between(cosine[:len(cosine)-20], "")
	if !ok || len(files) != 1 || files[0].Note != truncated {
		t.Errorf("a truncated diff: %+v %v", files, ok)
	}
	files, ok = Between("", "diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n")
	if !ok || len(files) != 1 || files[0].Note != binary || files[0].Name != "x.png" {
		t.Errorf("a binary file: %+v %v", files, ok)
	}
}

func TestTexts(t *testing.T) {
	var a, b []string
	for i := range 40 {
		a, b = append(a, fmt.Sprint(i)), append(b, fmt.Sprint(i))
	}
	b[5], b[30] = "five", "thirty\nand more"
	f := Texts("x", strings.Join(a, "\n")+"\n", strings.Join(b, "\r\n"))
	if len(f.Hunks) != 2 || f.Hunks[0].Before != 2 || f.Hunks[1].Before != 18 || f.Added != 3 || f.Removed != 2 || f.Changed != 3 {
		t.Errorf("%+v\n%s", f, text(f))
	}
	if f := Texts("x", "", "a\nb\n"); text(f) != "@0\n+a|0|1\n+b|0|2\n" {
		t.Error(text(f))
	}
	// There are too many edits to align them.
	long := strings.Repeat("a\n", 5000)
	if f := Texts("x", long, strings.Repeat("b\n", 5000)); f.Changed != 5000 {
		t.Errorf("%d lines of a long file changed", f.Changed)
	}
}

// TestCompareRandom compares random versions. The difference contains both versions and has the
// minimum length, which follows from their longest common subsequence.
func TestCompareRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() []string {
		lines := make([]string, r.IntN(12))
		for i := range lines {
			lines[i] = string(rune('a' + r.IntN(3)))
		}
		return lines
	}
	for range 3000 {
		a, b := random(), random()
		var gotA, gotB []string
		same := 0
		for _, l := range newComparer().compare(a, b, 1, 1) {
			if l.Kind != Added {
				gotA = append(gotA, l.Text)
				if l.A != len(gotA) {
					t.Fatalf("%v %v: line %+v", a, b, l)
				}
			}
			if l.Kind != Removed {
				gotB = append(gotB, l.Text)
				if l.B != len(gotB) {
					t.Fatalf("%v %v: line %+v", a, b, l)
				}
			}
			if l.Kind == Same {
				same++
			}
		}
		if strings.Join(gotA, "") != strings.Join(a, "") || strings.Join(gotB, "") != strings.Join(b, "") || same != common(a, b) {
			t.Fatalf("%v and %v: %v and %v, %d are the same", a, b, gotA, gotB, same)
		}
	}
}

// common returns the length of the longest common subsequence.
func common(a, b []string) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			next := max(row[j], row[j+1])
			if a[i] == b[j] {
				next = max(next, diagonal+1)
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

// TestBetweenLikeGit changes random files in two ways and compares the result of Between with
// git's diff of the two versions.
func TestBetweenLikeGit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	base := make([]string, 60)
	for i := range base {
		base[i] = fmt.Sprint("line ", i)
	}
	edit := func() []string {
		var lines []string
		for _, l := range base {
			switch r.IntN(12) {
			case 0:
				lines = append(lines, l+" changed "+fmt.Sprint(r.IntN(2)))
			case 1:
				lines = append(lines, l, "added "+fmt.Sprint(r.IntN(3)))
			case 2:
			default:
				lines = append(lines, l)
			}
		}
		return lines
	}
	folder := t.TempDir()
	diff := func(a, b []string) string {
		for name, lines := range map[string][]string{"a": a, "b": b} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("git", "diff", "--no-index", "a", "b")
		cmd.Dir = folder
		out, _ := cmd.Output() // exits with 1 if the files differ
		return strings.NewReplacer("a/a", "a/x", "b/b", "b/x").Replace(string(out))
	}
	for range 30 {
		a, b := edit(), edit()
		files, ok := Between(diff(base, a), diff(base, b))
		if !ok || len(files) != 1 {
			t.Fatalf("%v, %d files", ok, len(files))
		}
		whole := Texts("x", strings.Join(a, "\n"), strings.Join(b, "\n"))
		// Every changed line is present with its number, and the numbers of the unchanged lines
		// are consistent.
		for _, h := range files[0].Hunks {
			for _, l := range h.Lines {
				if l.A > 0 && a[l.A-1] != l.Text || l.B > 0 && b[l.B-1] != l.Text {
					t.Fatalf("line %+v is not in the files", l)
				}
			}
		}
		if files[0].Added-files[0].Removed != whole.Added-whole.Removed || files[0].Added < whole.Added {
			t.Errorf("+%d -%d, want +%d -%d", files[0].Added, files[0].Removed, whole.Added, whole.Removed)
		}
		if files[0].Added > whole.Added+6 {
			t.Errorf("%d lines are added, want %d", files[0].Added, whole.Added)
		}
	}
}

func FuzzBetween(f *testing.F) {
	f.Add(cosine, cosine)
	f.Add("", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n")
	f.Add("diff --git \"a/\\303\\244\" \"b/\\303\\244\"\n--- \"a/\\303\\244\"\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "")
	f.Fuzz(func(_ *testing.T, a, b string) { Between(a, b) })
}
