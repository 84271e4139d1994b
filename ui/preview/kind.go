package preview

import (
	"cmp"
	"mime"
	"path"
	"strings"

	"tracker/store/files"
)

// Kind specifies how a preview shows an artifact.
type Kind string

const (
	Image    Kind = "image"
	Text     Kind = "text"
	Table    Kind = "table"
	JSON     Kind = "json"
	Markdown Kind = "markdown"
	HTML     Kind = "html"
	Vega     Kind = "vega" // JSON that specifies a chart
	Audio    Kind = "audio"
	Video    Kind = "video"
	File     Kind = "file" // download only
)

// typeByEnd maps file extensions to media types, for artifacts without a specific media type.
// The type table of the operating system is not used, because it differs between systems.
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

// shown maps media types to kinds. Image, audio and video types are served unchanged, because
// they can't run scripts. Files of other types are shown as text, as a table or in a frame.
var shown = map[string]Kind{
	"image/png": Image, "image/jpeg": Image, "image/gif": Image, "image/webp": Image, "image/avif": Image,
	"image/bmp":  Image,
	"audio/mpeg": Audio, "audio/wav": Audio, "audio/x-wav": Audio, "audio/ogg": Audio, "audio/flac": Audio,
	"audio/mp4": Audio, "audio/aac": Audio, "audio/webm": Audio,
	"video/mp4": Video, "video/webm": Video, "video/ogg": Video,
	"text/csv": Table, "text/tab-separated-values": Table, "application/json": JSON,
	"text/markdown": Markdown, "text/x-markdown": Markdown,
	"text/html": HTML,
}

const (
	svgType   = "image/svg+xml"
	plainType = "text/plain; charset=utf-8"
)

// pageTable is the media type that Debian assigns to the extension .pt. Most files with this
// extension are PyTorch files.
const pageTable = "application/vnd.snesdev-page-table"

// MediaType returns the media type of an artifact without parameters. MLflow's clients send JSON,
// CSV and Markdown files as text/plain, so the extension tells these types.
func MediaType(r files.Artifact) string {
	media, _, err := mime.ParseMediaType(r.ContentType)
	byEnd := typeByEnd[strings.ToLower(path.Ext(r.Name))]
	if err != nil || media == files.DefaultContentType || media == pageTable {
		return byEnd
	}
	if k := shown[byEnd]; media == "text/plain" && (k == JSON || k == Table || k == Markdown) {
		return byEnd
	}
	return media
}

// TypeOf returns the media type that pages show for an artifact.
func TypeOf(r files.Artifact) string {
	if media := MediaType(r); media != "" || r.ContentType == pageTable {
		return cmp.Or(media, files.DefaultContentType)
	}
	return r.ContentType
}

// KindOf returns the kind of an artifact. The kind follows from the media type, or from the
// artifact's name if the media type is unspecific.
func KindOf(r files.Artifact) Kind {
	media := MediaType(r)
	if k, ok := shown[media]; ok {
		return k
	}
	switch {
	case media == svgType: // shown in an <img> element, which runs no scripts
		return Image
	case strings.HasSuffix(media, "+json"):
		return JSON
	case strings.HasPrefix(media, "text/"), media == "application/xml", media == "application/javascript",
		media == "application/yaml", media == "application/x-yaml", media == "application/toml", media == "application/sql",
		media == "application/x-sh", media == "application/x-ndjson", media == "application/jsonl":
		return Text
	}
	return File
}

// IsPicture reports whether a is a raster image.
func IsPicture(a files.Artifact) bool { return shown[MediaType(a)] == Image }

// ServedAs returns the content type with which the bytes of the artifact are served. The result
// inline reports whether browsers may show the bytes instead of saving them.
func ServedAs(r files.Artifact) (contentType string, inline bool) {
	media := MediaType(r)
	switch k := KindOf(r); {
	case media == svgType:
		return svgType, false
	case k == Image, k == Audio, k == Video:
		return media, true
	case k == Table, k == JSON, k == Markdown, media == "text/plain":
		return plainType, true
	}
	return files.DefaultContentType, false
}
