package filter

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func TestLike(t *testing.T) {
	for _, c := range []struct {
		text, pattern string
		fold, want    bool
	}{
		{"", "", false, true}, {"a", "", false, false}, {"", "%", false, true}, {"", "_", false, false}, {"abc", "abc", false, true},
		{"abc", "ABC", false, false}, {"abc", "ABC", true, true}, {"Ärger", "äRG%", true, true}, {"abc", "a%", false, true}, {"abc", "%c", false, true},
		{"abc", "%b%", false, true}, {"abc", "a_c", false, true}, {"aüc", "a_c", false, true}, {"abc", "_b", false, false}, {"abab", "%ab", false, true},
		{"aXbXc", "a%b%c", false, true}, {"ab", "a%b%b", false, false}, {"a%b", "a%b", false, true}, {"a.c", "a.c", false, true}, {"abc", "a.c", false, false},
		{"xyz", "%_%_%_%", false, true}, {"xy", "%_%_%_%", false, false}, {"new\nline", "new%line", false, true},
	} {
		if got := Like(c.text, c.pattern, c.fold); got != c.want {
			t.Errorf("%q like %q: %v", c.text, c.pattern, got)
		}
	}
}

// Like agrees with an equivalent regular expression.
func TestLikeAgreesWithRegularExpressions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(letters string, n int) string {
		var b strings.Builder
		for range rng.IntN(n) {
			r := []rune(letters)
			b.WriteRune(r[rng.IntN(len(r))])
		}
		return b.String()
	}
	found := 0
	const tries = 20_000
	for range tries {
		text, pattern := random("abü", 12), random("abü_%%", 8)
		re := regexp.MustCompile("^(?s:" + strings.NewReplacer("%", ".*", "_", ".").Replace(pattern) + ")$")
		want := re.MatchString(text)
		if Like(text, pattern, false) != want {
			t.Fatalf("%q like %q: %v", text, pattern, !want)
		}
		if want {
			found++
		}
	}
	if found < tries/20 {
		t.Errorf("only %d of %d match", found, tries)
	}
}

// TestLikeIsLinear searches the worst values for the longest part. A comparison at every index
// would take minutes.
func TestLikeIsLinear(t *testing.T) {
	text := strings.Repeat("a", 1<<20)
	for _, c := range []struct {
		pattern string
		want    bool
	}{
		{"%" + strings.Repeat("a", MaxContains-4) + "_b%", false},
		{"%" + strings.Repeat("_", MaxContains-3) + "b%", false},
		{"%" + strings.Repeat("a_", MaxContains/2-2) + "%", true},
	} {
		for range 50 {
			if Like(text, c.pattern, false) != c.want {
				t.Fatalf("%.20q: %v", c.pattern, !c.want)
			}
		}
	}
}
