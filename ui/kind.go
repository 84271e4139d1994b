package ui

import (
	"mime"
	"path"
	"strings"

	"tracker/store/files"
)

// kind is the way in which an artifact is shown.
type kind string

const (
	imageKind    kind = "image"
	textKind     kind = "text"
	tableKind    kind = "table"
	jsonKind     kind = "json"
	markdownKind kind = "markdown"
	htmlKind     kind = "html"
	audioKind    kind = "audio"
	videoKind    kind = "video"
	fileKind     kind = "file" // it can be downloaded
)

// typeByEnd holds the types of artifacts without a type, by the end of their
// names. The table of the operating system is not used, because it differs
// between systems.
var typeByEnd = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".avif": "image/avif", ".bmp": "image/bmp", ".svg": "image/svg+xml",
	".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".oga": "audio/ogg", ".flac": "audio/flac", ".m4a": "audio/mp4",
	".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm", ".ogv": "video/ogg",
	".csv": "text/csv", ".tsv": "text/tab-separated-values", ".json": "application/json", ".md": "text/markdown", ".markdown": "text/markdown",
	".html": "text/html", ".htm": "text/html", ".xml": "text/xml", ".js": "text/javascript",
	".txt": "text/plain", ".log": "text/plain", ".jsonl": "text/plain", ".ndjson": "text/plain", ".yaml": "text/plain", ".yml": "text/plain",
	".toml": "text/plain", ".ini": "text/plain", ".cfg": "text/plain", ".conf": "text/plain", ".py": "text/plain", ".sh": "text/plain",
	".r": "text/plain", ".jl": "text/plain", ".go": "text/plain", ".c": "text/plain", ".h": "text/plain", ".cpp": "text/plain",
	".rs": "text/plain", ".sql": "text/plain", ".tex": "text/plain", ".diff": "text/plain", ".patch": "text/plain",
}

// shown holds the types that are served under their own name, since none of them can run a script,
// and the types that a page shows as text or in a frame.
var shown = map[string]kind{
	"image/png": imageKind, "image/jpeg": imageKind, "image/gif": imageKind, "image/webp": imageKind, "image/avif": imageKind,
	"image/bmp":  imageKind,
	"audio/mpeg": audioKind, "audio/wav": audioKind, "audio/x-wav": audioKind, "audio/ogg": audioKind, "audio/flac": audioKind,
	"audio/mp4": audioKind, "audio/aac": audioKind, "audio/webm": audioKind,
	"video/mp4": videoKind, "video/webm": videoKind, "video/ogg": videoKind,
	"text/csv": tableKind, "text/tab-separated-values": tableKind, "application/json": jsonKind,
	"text/markdown": markdownKind, "text/x-markdown": markdownKind,
	"text/html": htmlKind,
}

const (
	svgType   = "image/svg+xml"
	plainType = "text/plain; charset=utf-8"
)

// pageTable is the type that Debian gives to names that end in .pt, which are
// mostly files of PyTorch.
const pageTable = "application/vnd.snesdev-page-table"

// mediaOf returns the type of an artifact without its parameters.
func mediaOf(r files.Artifact) string {
	media, _, err := mime.ParseMediaType(r.ContentType)
	if err != nil || media == files.DefaultContentType || media == pageTable {
		media = typeByEnd[strings.ToLower(path.Ext(r.Name))]
	}
	return media
}

// kindOf returns the kind of an artifact, from its type or, if the type is unspecific, from its name.
func kindOf(r files.Artifact) kind {
	media := mediaOf(r)
	if k, ok := shown[media]; ok {
		return k
	}
	switch {
	case media == svgType: // in an <img>, where it can't run anything
		return imageKind
	case strings.HasSuffix(media, "+json"):
		return jsonKind
	case strings.HasPrefix(media, "text/"), media == "application/xml", media == "application/javascript",
		media == "application/yaml", media == "application/x-yaml", media == "application/toml", media == "application/sql",
		media == "application/x-sh", media == "application/x-ndjson", media == "application/jsonl":
		return textKind
	}
	return fileKind
}

// servedAs returns the type under which the bytes of an artifact are served, and whether a browser
// may show them instead of saving them.
func servedAs(r files.Artifact) (contentType string, inline bool) {
	media := mediaOf(r)
	switch k := kindOf(r); {
	case media == svgType:
		return svgType, false
	case k == imageKind, k == audioKind, k == videoKind:
		return media, true
	case k == tableKind, k == jsonKind, k == markdownKind, media == "text/plain":
		return plainType, true
	}
	return files.DefaultContentType, false
}
