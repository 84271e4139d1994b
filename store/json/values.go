package json

// Values returns an upper bound of the number of values in a JSON text, not counting the
// names of members: the number of commas and opening brackets outside strings, plus 1. It
// does not allocate memory, so a body can be rejected before it is decoded.
func Values(text []byte) int {
	n := 1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ',', '[', '{':
			n++
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return n
}
