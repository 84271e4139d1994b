package ui

import (
	"regexp"
	"strings"

	"tracker/server/web"
)

// apiWord matches the API's words for a run and an artifact. Quoted text comes from users and is
// matched as a whole.
var apiWord = regexp.MustCompile(`"[^"]*"|“[^”]*”|\b(?:([Aa])n? )?([Ii]teration|[Rr]esource)(s?)\b`)

// pageWords maps the words of the API to the words of the pages, and the letter that the article
// "a" gets before them.
var pageWords = map[string][2]string{"iteration": {"run", ""}, "resource": {"artifact", "n"}}

// worded returns err with a message in the wording of the pages, which call an iteration a run and
// a resource an artifact.
func worded(err error) error {
	e := web.AsError(err)
	if e == nil || !apiWord.MatchString(e.Message) {
		return err
	}
	copied := *e
	copied.Message = apiWord.ReplaceAllStringFunc(e.Message, func(text string) string {
		m := apiWord.FindStringSubmatch(text)
		word := pageWords[strings.ToLower(m[2])]
		switch {
		case m[2] == "":
			return text
		case m[1] != "":
			return m[1] + word[1] + " " + word[0] + m[3]
		case m[2][0] < 'a':
			return strings.ToUpper(word[0][:1]) + word[0][1:] + m[3]
		}
		return word[0] + m[3]
	})
	return &copied
}
