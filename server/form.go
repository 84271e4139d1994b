package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"tracker/server/web"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/files"
)

// maxFields is the maximum size of a form in bytes, without the artifact's data. It includes
// text parts, part headers and boundaries.
const maxFields = 2 << 20

// form holds an artifact sent as a multipart body.
type form struct {
	patch    files.ArtifactPatch
	data     *artifact.Received // nil if the form has no data
	fileName string             // file name in the header of the data part; "" if it has none
	fileType string             // content type in the header of the data part
}

var formParts = []string{"data", "name", "description", "iteration_id", "content_type"}

// readForm reads the parts of a multipart body. The data part can be at any position. readForm
// calls allow before it receives the data, and returns the error of allow if there is one. If
// readForm succeeds, the caller must discard the form.
func (c *call) readForm(allow func() error) (f *form, err error) {
	body, err := c.formBody()
	if err != nil {
		return nil, err
	}
	parts, err := formReader(c.r, body)
	if err != nil {
		return nil, err
	}
	f = &form{}
	defer func() {
		if err != nil {
			f.discard()
		}
	}()
	var seen []string
	for {
		// Use NextRawPart, because NextPart would decode a transfer encoding that partName
		// rejects.
		part, err := parts.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return f, malformed(err)
		}
		name, err := partName(part, seen)
		if err != nil {
			return f, err
		}
		seen = append(seen, name)
		if name == "data" {
			err = f.receive(c, part, allow)
		} else {
			err = f.field(name, part)
		}
		if err != nil {
			return f, err
		}
	}
	return f, body.verify()
}

// formBody checks the headers that describe the request body and returns a reader for the body.
func (c *call) formBody() (*formBody, error) {
	if e := c.r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, domain.Errorf(web.CodeUnsupportedMediaType, "This route does not accept Content-Encoding %q; send the parts uncompressed.", web.Clip(e))
	}
	if err := c.s.db.Files.CheckSize(c.r.ContentLength - maxFields); err != nil {
		return nil, err
	}
	want, err := digest(c.r.Header.Values("Content-Digest"))
	if err != nil {
		return nil, err
	}
	b := &formBody{r: c.r.Body, want: want}
	if want != "" {
		b.hash = sha256.New()
	}
	return b, nil
}

func formReader(r *http.Request, body io.Reader) (*multipart.Reader, error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" {
		return nil, domain.Errorf(web.CodeUnsupportedMediaType, "The body must be multipart/form-data with the parts %s.", strings.Join(formParts, ", "))
	}
	if params["boundary"] == "" {
		return nil, domain.Errorf(web.CodeMalformedBody, "The Content-Type multipart/form-data must have a boundary.")
	}
	// A body that ends within a part's header would be parsed as a form without that part. Reading
	// past the end therefore returns an error. The added newline completes a last line that has no
	// newline.
	body = io.MultiReader(body, strings.NewReader("\r\n"), cutOff{})
	return multipart.NewReader(body, params["boundary"]), nil
}

// cutOff is a reader placed after the body. Its Read method returns an error, because the parser of
// a complete form never reads that far.
type cutOff struct{}

func (cutOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// formBody reads a request body and converts read errors into client errors. If the client has
// sent the body's hash, formBody also hashes the bytes.
type formBody struct {
	r    io.Reader
	hash hash.Hash // nil if the client has sent no hash
	want string
}

func (b *formBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.hash != nil {
		b.hash.Write(p[:n])
	}
	if err != nil && err != io.EOF {
		err = malformed(err)
	}
	return n, err
}

// verify reads the bytes after the last part, up to maxFields bytes. It returns an error if the
// body is shorter than its declared length or if its hash differs from the hash that the client
// sent.
func (b *formBody) verify() error {
	if _, err := io.Copy(io.Discard, io.LimitReader(b, maxFields)); err != nil {
		return err
	}
	if b.hash == nil {
		return nil
	}
	if got := hex.EncodeToString(b.hash.Sum(nil)); got != b.want {
		return domain.Invalid("Content-Digest", "The received body has the SHA-256 %s, which does not match Content-Digest; send it again.", got)
	}
	return nil
}

// malformed returns the client error for a body that can't be read completely.
func malformed(err error) error {
	var e *domain.Error
	if errors.As(err, &e) {
		return e
	}
	return &domain.Error{Code: web.CodeMalformedBody, Err: err,
		Message: "The body is incomplete or does not match its Content-Type; send it again."}
}

// partName returns the name of a part. It returns an error if the name is unknown or in seen.
func partName(part *multipart.Part, seen []string) (string, error) {
	name := part.FormName()
	switch {
	case name == "":
		return "", domain.Invalid("Content-Disposition", "A part has no name; it must be one of %s.", strings.Join(formParts, ", "))
	case !slices.Contains(formParts, name):
		name = web.Clip(name)
		return "", domain.Invalid(name, "%q is not a part of this request; the parts are %s.", name, strings.Join(formParts, ", "))
	case slices.Contains(seen, name):
		return "", domain.Invalid(name, "%s is given twice; give it once.", name)
	}
	if e := part.Header.Get("Content-Transfer-Encoding"); e != "" && !slices.Contains([]string{"binary", "8bit", "7bit"}, strings.ToLower(e)) {
		return "", domain.Invalid(name, "The part %s has the Content-Transfer-Encoding %q; send its bytes without an encoding.", name, web.Clip(e))
	}
	return name, nil
}

// field reads a text part. It checks the text immediately, because the data part can follow.
func (f *form) field(name string, part *multipart.Part) error {
	text, err := io.ReadAll(io.LimitReader(part, domain.MaxText+1))
	if err != nil {
		return malformed(err)
	}
	value := string(text)
	switch name {
	case "name":
		f.patch.Name = &value
	case "description":
		f.patch.Description = &value
	case "content_type":
		f.patch.ContentType = &value
	case "iteration_id":
		f.patch.IterationID = &value
	}
	return files.CheckArtifact(f.patch)
}

// receive reads the artifact's data from a part.
func (f *form) receive(c *call, part *multipart.Part, allow func() error) error {
	want, err := digest(part.Header["Content-Digest"])
	if err != nil {
		return err
	}
	if err := allow(); err != nil {
		return err
	}
	_, params, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition")) // part.FormName has parsed this header without an error
	f.fileName = params["filename"]
	f.fileName = f.fileName[strings.LastIndexAny(f.fileName, `/\`)+1:]
	f.fileType = part.Header.Get("Content-Type")
	f.data, err = c.s.db.Files.Receive(c.ctx, &formBody{r: part}, want)
	return err
}

// create returns the form's fields as a new artifact. It returns an error if the data or the
// name is missing.
func (f *form) create() (n files.NewArtifact, err error) {
	p := f.patch
	switch {
	case f.data == nil:
		return n, domain.Invalid("data", "data is missing: send the bytes of the artifact as the part \"data\" of the form.")
	case p.Name == nil && f.fileName == "":
		return n, domain.Invalid("name", "name must be given, as a part or as the file name of the part data.")
	}
	n = files.NewArtifact{Name: f.fileName, ContentType: f.fileType}
	for dst, src := range map[*string]*string{
		&n.Name: p.Name, &n.Description: p.Description, &n.IterationID: p.IterationID, &n.ContentType: p.ContentType} {
		if src != nil {
			*dst = *src
		}
	}
	return n, nil
}

func (f *form) discard() {
	if f.data != nil {
		f.data.Discard()
	}
}

// digest returns the SHA-256 in a Content-Digest header (RFC 9530) as hex, or "" if the request
// has no such header. It returns an error for a header without a valid SHA-256, because the
// sender relies on the check.
func digest(values []string) (string, error) {
	found := ""
	for member := range strings.SplitSeq(strings.Join(values, ","), ",") {
		algorithm, value, _ := strings.Cut(strings.TrimSpace(member), "=")
		if algorithm != "sha-256" {
			continue
		}
		text := []byte(strings.TrimSpace(value))
		raw := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		n, err := base64.StdEncoding.Decode(raw, bytes.Trim(text, ":"))
		if err != nil || n != sha256.Size || len(text) < 2 || text[0] != ':' || text[len(text)-1] != ':' {
			return "", errDigest
		}
		found = hex.EncodeToString(raw[:n])
	}
	if len(values) > 0 && found == "" {
		return "", errDigest
	}
	return found, nil
}

var errDigest = domain.Invalid("Content-Digest", "Content-Digest must be like sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:, the SHA-256 in base64 between colons.")
