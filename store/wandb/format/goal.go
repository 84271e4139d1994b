package format

// GoalOf returns the goal of a metric as minimize or maximize, or "" if it is unknown. number is
// the goal that the client has sent, 1 or 2; 0 means none. low and high report whether the summary
// of the metric is its minimum or its maximum. If the client has sent no goal, a summary with only
// one of the two implies it.
func GoalOf(number int, low, high bool) string {
	switch {
	case number == 1, number != 2 && low && !high:
		return "minimize"
	case number == 2, high && !low:
		return "maximize"
	}
	return ""
}
