package cmd

import (
	"math"
	"math/rand/v2"
)

// curve is a metric over the steps of a run.
type curve struct {
	key   string
	every int // steps from one point to the next, the first one after as many
	at    shape
}

// shape is a value for each step. Those with noise remember the step before,
// and are to be asked in order.
type shape func(step float64) float64

// falling goes from one value to another like a loss: fast first, then ever
// slower. Half of the way is done after the given number of steps.
func falling(from, to, half float64) shape {
	return func(step float64) float64 { return to + (from-to)/(1+step/half) }
}

func level(value float64) shape { return func(float64) float64 { return value } }

// warmUp rises in a line to peak within warm steps, then falls along half a
// cosine to nothing at the last one.
func warmUp(peak, warm, steps float64) shape {
	return func(step float64) float64 {
		if step < warm {
			return peak * (step + 1) / warm
		}
		return peak * (1 + math.Cos(math.Pi*(step-warm)/(steps-warm))) / 2
	}
}

// noisy multiplies a shape with noise of about the given share, which wanders:
// one step is like the step before.
func noisy(s shape, share float64, r *rand.Rand) shape {
	drift := 0.0
	return func(step float64) float64 {
		drift = 0.8*drift + 0.2*r.NormFloat64()
		return s(step) * (1 + share*(drift+0.6*r.NormFloat64()))
	}
}

// overfit leaves a shape at a step and climbs away from it.
func overfit(s shape, from, climb float64) shape {
	return func(step float64) float64 {
		return s(step) + climb*math.Pow(max(0, step-from)/from, 1.4)
	}
}

// again gives the last value again for the same step, so that two metrics can
// be made from one shape with noise.
func again(s shape) shape {
	last, value := math.NaN(), 0.0
	return func(step float64) float64 {
		if step != last {
			last, value = step, s(step)
		}
		return value
	}
}

// never is a step that no run reaches.
var never = math.Inf(1)

// diverge lets a shape explode at a step: it grows, overflows, and is not a
// number any more.
func diverge(s shape, from float64) shape {
	return func(step float64) float64 {
		beyond := step - from
		switch {
		case beyond < 0:
			return s(step)
		case beyond < 80:
			return s(step) * math.Exp(beyond*beyond/500)
		case beyond < 84:
			return math.Inf(1)
		}
		return math.NaN()
	}
}

// share keeps a shape between 0 and 1, as an accuracy is.
func share(s shape) shape {
	return func(step float64) float64 { return min(1, max(0, s(step))) }
}

// exp gives e to the power of a shape, as a perplexity is of a loss.
func exp(s shape) shape { return func(step float64) float64 { return math.Exp(s(step)) } }

// off tells how far a setting is from the best one, in powers of ten, squared.
func off(value, best float64) float64 {
	d := math.Log10(value / best)
	return d * d
}
