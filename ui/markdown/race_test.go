//go:build race

package markdown

// With the race detector, sync.Pool drops its contents, so goldmark's regular expressions allocate
// their machines repeatedly.
const poolFactor = 10
