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

// Limits holds the bounds on the body of a request.
type Limits struct {
	Size   int64  // bytes, decompressed
	Packed bool   // the body may have a Content-Encoding of gzip or zstd
	Values int    // maximum number of JSON values, including nested ones; 0 for any number
	Share  *Share // counts the memory of the body; may be nil
}

// ReadBody returns the body of a request, which must be JSON, or nil if the body is empty.
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

// checkHeader checks that the header of a request declares JSON without a Content-Encoding.
// encoding is the Content-Encoding.
func checkHeader(r *http.Request, encoding string) error {
	if encoding != "" {
		return domain.Errorf(CodeUnsupportedMediaType, "This route does not accept Content-Encoding %q; send plain JSON.", Clip(encoding))
	}
	// A page of another origin can send a body without this header, or as a form, without a
	// preflight request of the browser. It can't send one that is declared as JSON.
	if !isJSON(r.Header.Get("Content-Type")) {
		return domain.Errorf(CodeUnsupportedMediaType, "The body must be JSON in UTF-8; send the header Content-Type: application/json.")
	}
	return nil
}

// readError returns the error for the client when its body can't be read.
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

// Body is a JSON body that is decoded while it arrives.
type Body struct {
	r      io.Reader
	limits Limits
	err    error // error of the connection
}

// OpenBody returns the body of a request, which must be JSON. It does not accept a
// Content-Encoding, and does not count values.
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

// Error returns the error for the client when a decoder of the body has returned err. It
// returns an unrelated error unchanged.
func (b *Body) Error(err error) error {
	if b.err != nil {
		return readError(b.err, b.limits)
	}
	return decodeError(err, new(struct{}))
}

// FileBody returns the body of a request that is a file. Errors of reading it become errors
// of the client with the given code.
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

// readAll is io.ReadAll for a body with a declared length, -1 for none. Once half of the
// body has arrived, it allocates the declared length, which leaves less garbage. A declared
// length alone allocates nothing.
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
		if need := declared + 1; need > int64(cap(b)) && need <= room { // one byte more than declared, to detect the end
			room = need
		}
		b = append(make([]byte, 0, room), b...)
	}
}

// isJSON reports whether a Content-Type is JSON in UTF-8.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	return err == nil && media == "application/json" && (charset == "" || strings.EqualFold(charset, "utf-8"))
}

// elementBytes is the memory of a decoded element of a list, including the garbage of a
// list that grows by doubling. In the body an element may have three bytes.
const elementBytes = 64

// valueBytes is the maximum memory of a value where objects are decoded: an empty one may
// become a struct of many fields, or a map.
const valueBytes = 256

// zstdWindow is the maximum window of zstd in bytes, which suffices for its levels up to
// 19.
const zstdWindow = 8 << 20

// unpacking bounds the number of bodies that are decompressed at once, so that half of the
// processors are left for other requests.
var unpacking = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

var errUnpackedSize = errors.New("the body is too large after decompression")

// unpackAll returns packed decompressed. It decompresses it twice: first to find its size,
// because it may have to wait for that much memory.
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

// unpackedSize returns the decompressed size of packed.
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

// unpack returns a reader of the decompressed body.
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
