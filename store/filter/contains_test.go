package filter

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestContains(t *testing.T) {
	long := strings.Repeat("ab", 100)
	for _, c := range []struct {
		text, part string
		want       bool
	}{
		{"", "", true}, {"a", "", true}, {"", "a", false}, {"a", "ab", false},
		{"Adam", "ADAM", true}, {"adam w", "M W", true}, {"adm", "am", false}, {"aab", "ab", true}, {"aaab", "aab", true},
		{"100%", "%", true}, {"abc", "%", false}, {"a_b", "_", true}, {"abc", "a?c", false}, {"a*", "*", true}, {"[x]", "[x]", true},
		{"ÄRGER", "ärger", true}, {"ärger", "ÄRGER", true}, {"ÄRGER", "rg", true}, {"日本語", "本", true}, {"é", "e", false},
		// K and S have a third case beyond ASCII.
		{"\u212a", "k", false}, {"k", "\u212a", true}, {"K", "\u212a", true}, {"éK", "é\u212a", true}, {"é\u212a", "ék", false},
		{"ſ", "s", false}, {"S", "ſ", true}, {"ß", "ss", false}, {"Σ", "ς", true},
		{"x" + long + "y", long, true}, {"x" + long + "y", long + "y", true}, {"x" + long + "y", long + "x", false},
		{strings.ToUpper(long), long[:64], true}, {long, long[1:66] + "é", false}, {long + "É", long[1:] + "é", true},
	} {
		if got := Contains(c.text, c.part); got != c.want {
			t.Errorf("%q in %q: %v", c.part, c.text, got)
		}
	}
}

// slowContains is Contains, implemented by comparing at every index.
func slowContains(text, part string) bool {
	ascii := !strings.ContainsFunc(part, func(r rune) bool { return r > unicode.MaxASCII })
	equal := func(want, got rune) bool {
		if want == got {
			return true
		}
		if ascii || want <= unicode.MaxASCII {
			return want <= unicode.MaxASCII && got <= unicode.MaxASCII && unicode.ToLower(want) == unicode.ToLower(got)
		}
		return strings.EqualFold(string(want), string(got))
	}
	runes, wanted := []rune(text), []rune(part)
	for start := 0; start+len(wanted) <= len(runes); start++ {
		if slices.EqualFunc(wanted, runes[start:start+len(wanted)], equal) {
			return true
		}
	}
	return false
}

func TestContainsAgreesWithTryingEveryPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	letters := []rune("aAkKsS\u212aſéÉ%")
	random := func(n, kinds int) string {
		var b strings.Builder
		for range n {
			b.WriteRune(letters[rng.IntN(kinds)])
		}
		return b.String()
	}
	found := 0
	const tries = 20_000
	for range tries {
		kinds := 1 + rng.IntN(len(letters))
		text, part := random(rng.IntN(200), kinds), random(rng.IntN(5)*rng.IntN(40), kinds)
		want := slowContains(text, part)
		if Contains(text, part) != want {
			t.Fatalf("%q in %q: %v", part, text, !want)
		}
		if want {
			found++
		}
	}
	if found < tries/10 || found > tries*9/10 {
		t.Errorf("%d of %d were found", found, tries)
	}
}

// FuzzContains compares Contains with slowContains.
func FuzzContains(f *testing.F) {
	f.Add("ÄRGER", "ärger")
	f.Add("é\u212a", "ék")
	f.Add(strings.Repeat("s", 100), strings.Repeat("s", 70)+"ſ")
	f.Fuzz(func(t *testing.T, text, part string) {
		if len(text) > 2000 || len(part) > MaxContains {
			return
		}
		if got, want := Contains(text, part), slowContains(text, part); got != want {
			t.Errorf("%q in %q: %v", part, text, got)
		}
	})
}

// BenchmarkContains searches a value of 1 MiB for strings whose comparison fails only after many
// characters at every index.
func BenchmarkContains(b *testing.B) {
	text := strings.Repeat("é", 1<<19)
	for name, part := range map[string]string{"one": "ü", "1000 bytes": strings.Repeat("é", 499) + "x", "ascii": "x"} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if Contains(text, part) {
					b.Fatal("found")
				}
			}
		})
	}
	b.Run("short", func(b *testing.B) {
		for b.Loop() {
			Contains("swift-falcon-12", "falc")
		}
	})
}
