//go:build !race

package markdown

const poolFactor = 1
