package ui

import (
	"regexp"
	"strings"

	"tracker/server/web"
)

// iterationWord matches the API's word for a run. Text in quotes comes from users and is
// matched as a whole.
var iterationWord = regexp.MustCompile(`"[^"]*"|“[^”]*”|\b(?:([Aa])n )?([Ii])teration(s?)\b`)

// worded returns err with the words of the pages in its message: they call an iteration a run.
func worded(err error) error {
	e := web.AsError(err)
	if e == nil || !strings.Contains(strings.ToLower(e.Message), "iteration") {
		return err
	}
	copied := *e
	copied.Message = iterationWord.ReplaceAllStringFunc(e.Message, func(text string) string {
		m := iterationWord.FindStringSubmatch(text)
		switch {
		case m[2] == "":
			return text
		case m[1] != "":
			return m[1] + " run" + m[3]
		case m[2] == "I":
			return "Run" + m[3]
		}
		return "run" + m[3]
	})
	return &copied
}
