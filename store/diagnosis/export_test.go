package diagnosis

// At0 returns c without the line number of the sign.
func At0(c Crash) Crash {
	c.at = 0
	return c
}
