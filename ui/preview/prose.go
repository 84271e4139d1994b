package preview

import (
	"context"
	"errors"

	"github.com/a-h/templ"

	"tracker/ui/markdown"
	"tracker/ui/plain"
)

// proseLetters is the number of characters shown of a shortened text.
const proseLetters = 2000

// ProseOf renders text as Markdown. If text exceeds a limit of package markdown, ProseOf shows
// plain text and the reason.
func ProseOf(ctx context.Context, text string) (templ.Component, error) {
	html, err := markdown.Render(ctx, text)
	var limit *markdown.LimitError
	switch {
	case errors.As(err, &limit):
		return plainProse(text, "It is shown as plain text, because "+limit.Reason+"."), nil
	case err != nil:
		return nil, err
	}
	return templ.Raw(html), nil
}

// ProseWithin is ProseOf for one of several texts on a page. left is the number of bytes that the
// page can still render; it is reduced by len(text). If text is longer than left, ProseWithin shows
// only the beginning of text.
func ProseWithin(ctx context.Context, text string, left *int) (templ.Component, error) {
	if len(text) > *left {
		return plainProse(plain.Clip(text, proseLetters), "Only the beginning is shown, because the page has too much text."), nil
	}
	*left -= len(text)
	return ProseOf(ctx, text)
}
