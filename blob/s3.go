package blob

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// S3Options describes an object store and how to connect to it.
type S3Options struct {
	Bucket    string // name of an existing bucket
	Prefix    string // prefix of all keys in the bucket, "" for none
	Endpoint  string // host, host:port or URL; TLS unless the URL begins with http://; "" for Amazon S3
	Region    string // "" to ask the object store for the region
	AccessKey string
	SecretKey string
	Style     S3Style

	RootCAs    *x509.CertPool // trusted certificate authorities; nil for the system's authorities
	Timeout    time.Duration  // maximum time without a byte sent or received; 0 for 30 s
	RetryPause time.Duration  // pause before the second attempt, doubled before each further attempt; 0 for 200 ms
	PartSize   int64          // bytes per request, from 5 MiB to 1 GiB; 0 for 12 MiB; an upload holds two parts in memory
}

// S3Style specifies how URLs name the bucket.
type S3Style int

// S3StyleAuto chooses the style based on the endpoint. S3StylePath uses endpoint/bucket, and
// S3StyleHost uses bucket.endpoint.
const (
	S3StyleAuto S3Style = iota
	S3StylePath
	S3StyleHost
)

// S3 stores blobs as objects prefix/ab/abcd… in a bucket.
//
// A blob that fits into one part stays in memory until Commit sends it. Stage sends a larger blob
// in parts to a key in staging/, because the hash is not known before the last byte. Commit
// requests a copy of the staged object to the blob's key and then deletes the staged object.
type S3 struct {
	core     *minio.Core
	bucket   string
	prefix   string // "" or ending in a slash
	endpoint string
	secure   bool // whether requests use TLS
	timeout  time.Duration
	pause    time.Duration
	partSize int
	parts    sync.Pool // buffers of type *[]byte with the capacity of a part
	copySize int64     // maximum bytes per copy request
}

const (
	minPartSize = 5 << 20 // S3 limit for all parts but the last
	maxParts    = 10_000  // S3 limit for one upload
)

// NewS3 returns the store that o describes. NewS3 does not connect to the object store; see
// Ping.
func NewS3(o S3Options) (*S3, error) {
	if o.Bucket == "" {
		return nil, newError(ErrRefused, nil, "No bucket is configured; set SERVICE_S3_BUCKET.")
	}
	if err := s3utils.CheckValidBucketName(o.Bucket); err != nil {
		return nil, newError(ErrRefused, err, "%q is not a valid bucket name; correct SERVICE_S3_BUCKET.", o.Bucket)
	}
	if o.AccessKey == "" || o.SecretKey == "" {
		return nil, newError(ErrRefused, nil, "No credentials are configured for the object store; set SERVICE_S3_ACCESS_KEY and SERVICE_S3_SECRET_KEY.")
	}
	if o.PartSize != 0 && (o.PartSize < minPartSize || o.PartSize > 1<<30) {
		return nil, newError(ErrRefused, nil, "The part size is %d; choose one from 5 MiB to 1 GiB.", o.PartSize)
	}
	host, secure, err := endpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	s := &S3{bucket: o.Bucket, endpoint: host, secure: secure, timeout: o.Timeout, pause: o.RetryPause, partSize: int(o.PartSize), copySize: 256 << 20}
	if prefix := strings.Trim(o.Prefix, "/"); prefix != "" {
		s.prefix = prefix + "/"
	}
	if s.timeout == 0 {
		s.timeout = 30 * time.Second
	}
	if s.pause == 0 {
		s.pause = 200 * time.Millisecond
	}
	if s.partSize == 0 {
		s.partSize = 12 << 20
	}
	style := map[S3Style]minio.BucketLookupType{S3StylePath: minio.BucketLookupPath, S3StyleHost: minio.BucketLookupDNS}[o.Style]
	s.core, err = minio.NewCore(host, &minio.Options{
		Creds:        credentials.NewStaticV4(o.AccessKey, o.SecretKey, ""),
		Secure:       secure,
		Region:       o.Region,
		BucketLookup: style,
		Transport:    s.transport(o.RootCAs),
		MaxRetries:   1, // the method try repeats requests
	})
	if err != nil {
		return nil, newError(ErrRefused, err, "The endpoint %q is not valid; correct SERVICE_S3_ENDPOINT.", host)
	}
	return s, nil
}

func endpoint(given string) (host string, secure bool, err error) {
	if given == "" {
		return "s3.amazonaws.com", true, nil
	}
	if !strings.Contains(given, "://") {
		given = "https://" + given
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		// The message quotes neither given nor err, which might contain a password or a
		// signature.
		return "", false, newError(ErrRefused, nil, "The endpoint is not the address of an object store; set SERVICE_S3_ENDPOINT to https://host:port.")
	}
	return u.Host, u.Scheme == "https", nil
}

// transport returns a transport that closes a connection after the timeout if no byte was sent
// or received.
func (s *S3) transport(roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: s.timeout}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &idleTimeoutConn{Conn: c, timeout: s.timeout}, nil
		},
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: s.timeout,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     s.timeout,
		DisableCompression:  true,
		WriteBufferSize:     64 << 10,
		ReadBufferSize:      64 << 10,
	}
}

// idleTimeoutConn extends its deadline with each read and write. A pending read does not time
// out while a long request is being sent.
type idleTimeoutConn struct {
	net.Conn
	timeout time.Duration
}

func (c *idleTimeoutConn) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *idleTimeoutConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Ping checks that the object store responds and that the settings are correct. Ping returns
// ErrUnavailable or ErrRefused if the check fails.
func (s *S3) Ping(ctx context.Context) error {
	return s.try(ctx, func(ctx context.Context) error {
		for o := range s.core.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix, MaxKeys: 1}) {
			return o.Err
		}
		return ctx.Err()
	})
}

// Open requests the size of the object. The reader's Read method requests the bytes.
func (s *S3) Open(ctx context.Context, b Blob) (io.ReadSeekCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !isHash(b.Hash) {
		return nil, errNotFound(b.Hash)
	}
	if err := s.verify(ctx, keyOf(b.Hash), b); err != nil {
		return nil, err
	}
	return &objectReader{ctx: ctx, store: s, blob: b}, nil
}

// verify checks that the object under key exists and has b.Size bytes.
func (s *S3) verify(ctx context.Context, key string, b Blob) error {
	var info minio.ObjectInfo
	err := s.try(ctx, func(ctx context.Context) (err error) {
		info, err = s.core.StatObject(ctx, s.bucket, s.prefix+key, minio.StatObjectOptions{})
		return requireETag(err, info.ETag)
	})
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrRefused) {
		// The response to HEAD has no body that could give a reason. Ping returns the reason.
		if reason := s.Ping(ctx); reason != nil {
			return reason
		}
	}
	switch {
	case errors.Is(err, ErrNotFound):
		return errNotFound(b.Hash)
	case err != nil:
		return err
	case info.Size != b.Size:
		return errSize(b, info.Size)
	}
	return nil
}

// Delete removes the object with the given hash.
func (s *S3) Delete(ctx context.Context, hash string) error {
	if err := ctx.Err(); err != nil || !isHash(hash) {
		return err
	}
	return s.remove(ctx, keyOf(hash))
}

// remove deletes an object. It returns nil if the object does not exist.
func (s *S3) remove(ctx context.Context, key string) error {
	err := s.try(ctx, func(ctx context.Context) error {
		return s.core.RemoveObject(ctx, s.bucket, s.prefix+key, minio.RemoveObjectOptions{})
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Walk lists the bucket and ignores objects whose keys are not blob keys.
func (s *S3) Walk(ctx context.Context, fn func(Info) error) error {
	return s.list(ctx, "", func(key string, o minio.ObjectInfo) error {
		hash, ok := hashFromKey(key)
		if !ok {
			return nil
		}
		return fn(Info{Blob: Blob{Hash: hash, Size: o.Size}, Modified: o.LastModified})
	})
}

// list calls fn for each object below a folder, with the object's key relative to the prefix. If a
// listing is interrupted, list continues after the last key as long as each attempt makes progress.
func (s *S3) list(ctx context.Context, folder string, fn func(key string, o minio.ObjectInfo) error) error {
	last := ""
	for {
		from := last
		var stop error
		err := s.try(ctx, func(ctx context.Context) error {
			noOwner := false
			for o := range s.core.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{
				Prefix: s.prefix + folder, Recursive: true, StartAfter: last, FetchOwner: &noOwner,
			}) {
				if o.Err != nil {
					return o.Err
				}
				if stop = fn(strings.TrimPrefix(o.Key, s.prefix), o); stop != nil {
					return nil
				}
				last = o.Key
			}
			return ctx.Err()
		})
		if stop != nil {
			return stop
		}
		if !errors.Is(err, ErrUnavailable) || last == from {
			return err
		}
	}
}

// URI returns the s3:// address of the object with the given hash.
func (s *S3) URI(hash string) string {
	if !isHash(hash) {
		return ""
	}
	return "s3://" + s.bucket + "/" + s.prefix + keyOf(hash)
}
