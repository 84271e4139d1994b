package diagnosis

// At0 returns c without the index of the line with the sign.
func At0(c Crash) Crash {
	c.at = 0
	return c
}
