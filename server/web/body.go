package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"runtime"
	"strings"

	"github.com/klauspost/compress/zstd"

	"tracker/store/domain"
	"tracker/store/json"
)

// Limits holds the limits for a request body.
type Limits struct {
	Size   int64  // maximum size after decompression, in bytes
	Packed bool   // whether Content-Encoding can be gzip or zstd
	Values int    // maximum number of JSON values, including nested values; 0 for no limit
	Share  *Share // counts the memory of the body; can be nil
}

// ReadBody returns the JSON body of a request, or nil if the body is empty.
func ReadBody(w http.ResponseWriter, r *http.Request, limits Limits) ([]byte, error) {
	if limits.Share != nil {
		limits.Share.HoldBody(r)
	}
	encoding := r.Header.Get("Content-Encoding")
	if encoding == "identity" {
		encoding = ""
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, limits.Size), r.ContentLength)
	if err == nil && encoding != "" && limits.Packed {
		body, err = unpackAll(encoding, body, limits)
	}
	switch {
	case err != nil:
		return nil, readError(err, limits)
	case len(body) == 0:
		return nil, nil
	}
	if limits.Packed {
		encoding = ""
	}
	if err := checkHeader(r, encoding); err != nil {
		return nil, err
	}
	size := int64(bytes.Count(body, []byte{','})) * elementBytes
	if limits.Values > 0 {
		n := json.Values(body)
		if n > limits.Values {
			return nil, domain.Errorf(domain.CodePayloadTooLarge, "The body has more than %d values; send less at once.", limits.Values)
		}
		size = int64(n) * valueBytes
	}
	if limits.Share != nil {
		err = limits.Share.Grow(size)
	}
	return body, err
}

// checkHeader returns an error if the request has a Content-Encoding or its Content-Type is not
// JSON. encoding is the Content-Encoding.
func checkHeader(r *http.Request, encoding string) error {
	if encoding != "" {
		return domain.Errorf(CodeUnsupportedMediaType, "This route does not accept Content-Encoding %q; send plain JSON.", Clip(encoding))
	}
	// Without a preflight request, a page from another origin can send a form or a body without a
	// Content-Type, but not a body with the Content-Type application/json.
	if !isJSON(r.Header.Get("Content-Type")) {
		return domain.Errorf(CodeUnsupportedMediaType, "The body must be JSON in UTF-8; send the header Content-Type: application/json.")
	}
	return nil
}

// readError returns the client error for err, which occurred while reading a body.
func readError(err error, limits Limits) error {
	var tooLarge *http.MaxBytesError
	var known *domain.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &tooLarge), errors.Is(err, errUnpackedSize), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return domain.Errorf(domain.CodePayloadTooLarge, "The body is larger than %d bytes; send less at once.", limits.Size)
	}
	return domain.Errorf(CodeMalformedBody, "The body is damaged or incomplete; send it again.")
}

// Body is a JSON body that can be decoded while it arrives.
type Body struct {
	r      io.Reader
	limits Limits
	err    error // read error of the connection
}

// OpenBody returns the JSON body of a request for decoding. It rejects a Content-Encoding. It
// ignores limits.Values.
func OpenBody(w http.ResponseWriter, r *http.Request, limits Limits) (*Body, error) {
	if limits.Share != nil {
		limits.Share.HoldBody(r)
	}
	encoding := r.Header.Get("Content-Encoding")
	if encoding == "identity" {
		encoding = ""
	}
	b := &Body{r: http.MaxBytesReader(w, r.Body, limits.Size), limits: limits}
	if r.ContentLength == 0 {
		return b, nil
	}
	return b, checkHeader(r, encoding)
}

func (b *Body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// Error returns the client error for err, which is an error from a decoder of b. If the connection
// failed, it returns the error for that instead. Errors that do not concern the body are returned
// unchanged.
func (b *Body) Error(err error) error {
	if b.err != nil {
		return readError(b.err, b.limits)
	}
	return decodeError(err, new(struct{}))
}

// FileBody returns the body of a request that uploads a file. Read errors become client errors with
// the given code.
func FileBody(r *http.Request, code domain.Code) io.Reader { return fileBody{r.Body, code} }

type fileBody struct {
	io.Reader
	code domain.Code
}

func (b fileBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	var known *domain.Error
	if err != nil && err != io.EOF && !errors.As(err, &known) {
		err = &domain.Error{Code: b.code, Err: err, Message: "The body is incomplete; send it again."}
	}
	return n, err
}

// readAll is like io.ReadAll, but uses the body's declared length to produce less garbage.
// declared is -1 if the request declares no length. After half of the body has arrived, readAll
// allocates the declared length. A declared length without data therefore allocates nothing.
func readAll(r io.Reader, declared int64) ([]byte, error) {
	b := make([]byte, 0, 512)
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
		if len(b) < cap(b) {
			continue
		}
		room := 2 * int64(cap(b))
		if need := declared + 1; need > int64(cap(b)) && need <= room { // one byte more than the declared length, to detect the end
			room = need
		}
		b = append(make([]byte, 0, room), b...)
	}
}

// isJSON reports whether a Content-Type stands for JSON in UTF-8.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	return err == nil && media == "application/json" && (charset == "" || strings.EqualFold(charset, "utf-8"))
}

// elementBytes is the memory that a decoded list element needs, including the garbage of a list
// that doubles its capacity as it grows. In the body, an element can be as short as three bytes.
const elementBytes = 64

// valueBytes is the maximum memory that a decoded JSON value needs, not counting string contents.
// Even an empty object can become a map or a struct with many fields.
const valueBytes = 256

// zstdWindow is the maximum zstd window size in bytes. It is sufficient for the zstd levels 1
// to 19.
const zstdWindow = 8 << 20

// unpacking limits the number of bodies that are decompressed concurrently. It reserves half of
// the processors for other requests.
var unpacking = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

var errUnpackedSize = errors.New("the body is too large after decompression")

// unpackAll decompresses packed. It does so twice: the first pass only determines the size, because
// unpackAll may have to wait until that much memory is available.
func unpackAll(encoding string, packed []byte, limits Limits) ([]byte, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	if encoding == "zstd" && limits.Share != nil {
		if err := limits.Share.Grow(zstdWindow); err != nil {
			return nil, err
		}
	}
	size, err := unpackedSize(encoding, packed, limits.Size)
	if err == nil && limits.Share != nil {
		err = limits.Share.Grow(size)
	}
	if err != nil {
		return nil, err
	}
	unpacking <- struct{}{}
	defer func() { <-unpacking }()
	r, closeReader, err := unpack(encoding, bytes.NewReader(packed), limits.Size)
	if err != nil {
		return nil, err
	}
	defer closeReader()
	body := make([]byte, size)
	_, err = io.ReadFull(r, body)
	return body, err
}

// unpackedSize returns the size of packed after decompression. It returns errUnpackedSize if
// the size exceeds limit.
func unpackedSize(encoding string, packed []byte, limit int64) (int64, error) {
	unpacking <- struct{}{}
	defer func() { <-unpacking }()
	r, closeReader, err := unpack(encoding, bytes.NewReader(packed), limit)
	if err != nil {
		return 0, err
	}
	defer closeReader()
	size, err := io.Copy(io.Discard, io.LimitReader(r, limit+1))
	if err == nil && size > limit {
		err = errUnpackedSize
	}
	return size, err
}

// unpack returns a reader that decompresses body. The caller must call the returned function
// when it has finished reading.
func unpack(encoding string, body io.Reader, size int64) (io.Reader, func(), error) {
	switch encoding {
	case "gzip":
		r, err := gzip.NewReader(body)
		if err != nil {
			return nil, nil, domain.Errorf(CodeMalformedBody, "The body is not gzip, although its Content-Encoding is.")
		}
		return r, func() { r.Close() }, nil
	case "zstd":
		r, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(uint64(size)))
		if err != nil {
			return nil, nil, err
		}
		return r, r.Close, nil
	}
	return nil, nil, domain.Errorf(CodeUnsupportedMediaType, "This route accepts Content-Encoding gzip or zstd, not %q.", Clip(encoding))
}
