package report

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"io"
	"strings"

	"tracker/store/domain"
)

// maxDrawing is the maximum number of bytes of an SVG image in the text of a report.
const maxDrawing = 2 << 20

var errDrawing = domain.Invalid("svg", "The picture in the report is damaged, or larger than %d MiB. Remove it and add it again.", maxDrawing>>20)

// unpack returns an SVG image from the text of a report. The text is compressed by zlib, and in
// base64.
func unpack(text string) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errDrawing
	}
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, errDrawing
	}
	svg, err := io.ReadAll(io.LimitReader(r, maxDrawing+1))
	if err != nil || len(svg) > maxDrawing || !strings.HasPrefix(string(svg), "<svg") {
		return nil, errDrawing
	}
	return svg, nil
}

// Drawing returns the SVG image with the given fingerprint in the text of a report. The error has
// the code NOT_FOUND if the text has no such image.
func Drawing(text, fingerprint string) ([]byte, error) {
	for _, b := range parse(text) {
		if b.kind == "image" && b.fields["svg"] != "" && domain.Fingerprint(b.fields["svg"]) == fingerprint {
			return unpack(b.fields["svg"])
		}
	}
	return nil, domain.Errorf(domain.CodeNotFound, "The report has no such picture.")
}
