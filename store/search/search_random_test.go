package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"

	"tracker/store/runs"
	"tracker/store/scalar"
)

// Random data and random filters consist of these words, so that they often match.
var (
	modelKeys = []string{"lr", "a b", "größe", "x`y", `quo"te'`, "loss.min", "train/loss", "min", "ünï"}
	modelTags = []string{"best", "Best", "ÄRGER", "ärger", "a'b", `"`, "100%", "a_b", "*", "[x]", "ſtraße", "Kelvin"}
	modelText = []string{"adam", "Adam", "sgd", "0.1", "0.10", "1e-1", ".1", "1e-3", "10", "9", "-3", "+7", "5.", " 5 ", "5\n",
		"0x10", "5abc", "abc5", "", "NaN", "Infinity", "1e400", "-1e400", "9007199254740993", "9007199254740992",
		"9223372036854775808", "1_000", "٣", "-0", "0", "true", "a'b\"c`d", "%", "_", "*", "?", "[", "]", "^", "\\", "ÄRGER", "ärger",
		"'; DROP TABLE iteration; --", "ſ", "k", "\u212a", "日本語", "é*k", "éxk", "ÉK", "é\u212a", "é[k"}
	modelNumbers = []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 0.5, 1e-3, 1e300, -1e300, 2.5, 3, math.MaxFloat64,
		math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1), math.Inf(-1)}
	modelLiterals = []string{"0", "-0", "1", "-1", "0.1", "0.10", "1e-1", ".1", "5.", "+7", "1E-3", "2.5", "10", "9", "3", "1e300",
		"9007199254740993", "9007199254740992", "9223372036854775808"}
)

func pick[T any](rng *rand.Rand, all []T) T { return all[rng.IntN(len(all))] }

// randomFilter returns a filter with up to depth nested junctions.
func randomFilter(rng *rand.Rand, runs []*modelRun, depth int) string {
	space := func() string { return pick(rng, []string{" ", "  ", "\t", " \n "}) }
	word := func(w string) string {
		return space() + pick(rng, []string{w, strings.ToUpper(w), strings.ToUpper(w[:1]) + w[1:]}) + space()
	}
	if depth == 0 || rng.IntN(3) == 0 {
		return randomComparison(rng, runs)
	}
	switch rng.IntN(4) {
	case 0:
		return "not" + space() + "(" + randomFilter(rng, runs, depth-1) + ")"
	case 1:
		return "not" + space() + randomComparison(rng, runs)
	}
	op := pick(rng, []string{"and", "or"})
	var parts []string
	for range 2 + rng.IntN(3) {
		parts = append(parts, "("+randomFilter(rng, runs, depth-1)+")")
	}
	return strings.Join(parts, word(op))
}

func randomField(rng *rand.Rand, kind string) string {
	key := pick(rng, modelKeys)
	if bare := regexp.MustCompile(`^[\pL_/]+$`); !bare.MatchString(key) || rng.IntN(3) == 0 {
		key = "`" + strings.ReplaceAll(key, "`", "``") + "`"
	}
	return kind + "." + key
}

func randomRef(rng *rand.Rand) string {
	switch rng.IntN(12) {
	case 0, 1, 2:
		return randomField(rng, "param")
	case 3, 4, 5:
		return randomField(rng, "metric") + pick(rng, []string{"", "", ".min", ".max", ".mean", ".last", ".count"})
	}
	return pick(rng, []string{"tag", "name", "status", "created", "ended", "duration", "id"})
}

func quoted(rng *rand.Rand, s string) string {
	q := pick(rng, []string{"'", `"`})
	return q + strings.NewReplacer(`\`, `\\`, "\n", `\n`, q, `\`+q).Replace(s) + q
}

func randomComparison(rng *rand.Rand, all []*modelRun) string {
	r := randomRef(rng)
	word, _, _ := strings.Cut(r, ".")
	orders := []string{"=", "!=", "<", "<=", ">", ">=", "in"}
	equals := []string{"=", "!=", "in"}
	run := pick(rng, all)
	var ops []string
	var value func() string
	switch word {
	case "param":
		ops = append(orders, "contains")
		value = func() string {
			if rng.IntN(2) == 0 {
				return pick(rng, modelLiterals)
			}
			return quoted(rng, pick(rng, modelText))
		}
	case "metric":
		ops = orders
		value = func() string { return strings.ReplaceAll(fmt.Sprint(pick(rng, modelNumbers)), "+Inf", "Inf") }
	case "tag":
		ops = append(equals, "contains")
		value = func() string { return quoted(rng, pick(rng, modelTags)) }
	case "status":
		ops = equals
		value = func() string { return quoted(rng, string(pick(rng, runs.IterationStatuses))) }
	case "created", "ended":
		ops = orders
		value = func() string {
			return quoted(rng, pick(rng, []scalar.Time{run.created, run.seen, run.created + 1}).String())
		}
	case "duration":
		ops = orders
		value = func() string {
			d := pick(rng, []float64{run.duration(), 0, 1.001, 3600})
			return pick(rng, []string{fmt.Sprint(d), quoted(rng, fmt.Sprint(d)+"s")})
		}
	default:
		ops = append(orders, "contains")
		value = func() string { return quoted(rng, pick(rng, []string{run.name, run.id, run.name[1:], "é", "RUN"})) }
	}
	op := pick(rng, ops)
	if op != "in" {
		v := value()
		for strings.ContainsAny(op, "<>") && v == "NaN" {
			v = value()
		}
		return r + " " + op + " " + v
	}
	values := []string{value()}
	for range rng.IntN(3) {
		values = append(values, value())
	}
	return r + " in (" + strings.Join(values, ", ") + ")"
}
