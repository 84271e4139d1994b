//go:build race

package markdown

// The race detector makes sync.Pool drop its contents, and the regular expressions of goldmark
// allocate their machines again and again.
const poolFactor = 10
