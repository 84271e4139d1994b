package demo

import (
	"math"
	"math/rand/v2"
)

// curve holds the values of a metric over the steps of a run.
type curve struct {
	key   string
	every int // steps between two points
	at    shape
}

// shape returns the value of a curve at a step. The noise of a noisy shape depends on previous
// calls, so callers must pass steps in ascending order.
type shape func(step float64) float64

// falling returns a hyperbola that falls from one value towards another, like a loss. At the step
// half, it has fallen halfway.
func falling(from, to, half float64) shape {
	return func(step float64) float64 { return to + (from-to)/(1+step/half) }
}

func level(value float64) shape { return func(float64) float64 { return value } }

// warmUp returns a shape that rises linearly to peak in the first warm steps and then falls along a
// half cosine to 0 at the last step.
func warmUp(peak, warm, steps float64) shape {
	return func(step float64) float64 {
		if step < warm {
			return peak * (step + 1) / warm
		}
		return peak * (1 + math.Cos(math.Pi*(step-warm)/(steps-warm))) / 2
	}
}

// noisy returns s multiplied by autocorrelated noise. The standard deviation of the noise is
// about share.
func noisy(s shape, share float64, r *rand.Rand) shape {
	drift := 0.0
	return func(step float64) float64 {
		drift = 0.8*drift + 0.2*r.NormFloat64()
		return s(step) * (1 + share*(drift+0.6*r.NormFloat64()))
	}
}

// overfit returns s plus a rise that begins at the given step.
func overfit(s shape, from, climb float64) shape {
	return func(step float64) float64 {
		return s(step) + climb*math.Pow(max(0, step-from)/from, 1.4)
	}
}

// again returns a shape that calls s only once for each step, so that two metrics can share a noisy
// shape.
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

// diverge returns a shape that equals s before the given step, then grows to infinity and finally
// becomes NaN.
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

// filling returns the memory usage in percent of a machine that has no free memory after the given
// number of steps.
func filling(steps float64) shape {
	return func(step float64) float64 { return min(99.4, 41+3*math.Sin(step/9)+60*math.Pow(step/steps, 5)) }
}

// share returns s limited to the range [0, 1].
func share(s shape) shape {
	return func(step float64) float64 { return min(1, max(0, s(step))) }
}

// exp returns e to the power of s. If s is a loss, the result is the perplexity.
func exp(s shape) shape { return func(step float64) float64 { return math.Exp(s(step)) } }

// off returns the square of the base-10 logarithm of value/best.
func off(value, best float64) float64 {
	d := math.Log10(value / best)
	return d * d
}
