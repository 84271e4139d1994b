package json

// Values returns an upper bound for the number of values in a JSON document. It counts commas and
// opening brackets outside strings, and adds 1. Member names are not counted as values. Values
// does not allocate memory, so a server can use it to reject a body before decoding it.
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
