package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"
)

// RecordState holds the state of a record in a project. The field Record has the form kind/id.
// Older servers send only the fingerprint.
type RecordState struct {
	Record      string   `json:"record"`
	Fingerprint string   `json:"fingerprint"`
	Content     string   `json:"content"`
	References  []string `json:"references"`
}

// Imported holds the result of importing an archive.
type Imported struct {
	Found, Created, Grown, Unchanged int
	LeftOut                          int `json:"left_out"`
	Parameters, Tags                 int
	Points, Artifacts                int
	Bytes                            int64
	Lost                             int
	Losses                           []struct{ Path, Reason string }
	Conflicts                        []string
}

// Add adds the counts in more to i.
func (i *Imported) Add(more Imported) {
	i.Found += more.Found
	i.Created += more.Created
	i.Grown += more.Grown
	i.Unchanged += more.Unchanged
	i.LeftOut += more.LeftOut
	i.Parameters += more.Parameters
	i.Tags += more.Tags
	i.Points += more.Points
	i.Artifacts += more.Artifacts
	i.Bytes += more.Bytes
}

// Records returns the states of the records of a project, in the server's order. It returns none if
// the project does not exist.
func (c *Client) Records(ctx context.Context, project string) (all []RecordState, err error) {
	for {
		var l struct {
			Data  []RecordState `json:"data"`
			Total int           `json:"total"`
		}
		query := url.Values{"limit": {"100"}, "offset": {strconv.Itoa(len(all))}}
		err := c.withoutTimeout().do(ctx, http.MethodGet, "/project/"+url.PathEscape(project)+"/records", query, nil, &l)
		if Is(err, "NOT_FOUND") && len(all) == 0 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, l.Data...)
		if len(l.Data) == 0 || len(all) >= l.Total {
			return all, nil
		}
	}
}

// Archive requests an archive with the given records of a project and writes the archive to w.
func (c *Client) Archive(ctx context.Context, project string, records []string, w io.Writer) error {
	answer, err := c.withoutTimeout().send(ctx, http.MethodPost, "/project/"+url.PathEscape(project)+"/archive", nil,
		map[string][]string{"records": records})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(w, answer.Body); err != nil {
		return fmt.Errorf("the response of %s was interrupted: %w", c.URL(), err)
	}
	return nil
}

// sentPart is the maximum number of archive bytes in one request. It is nginx's default limit.
const sentPart = 1 << 20

// Import sends an archive of size bytes and returns the result of the import. It splits a large
// archive into several requests. If the server is too old to accept parts, Import sends the
// archive in one request.
func (c *Client) Import(ctx context.Context, archive io.ReaderAt, size int64) (r Imported, err error) {
	if size <= sentPart {
		return c.sendArchive(ctx, http.MethodPost, "/archive", "", io.NewSectionReader(archive, 0, size))
	}
	path := "/archive?upload=" + uuid.NewString()
	for from := int64(0); from < size; from += sentPart {
		n := min(sentPart, size-from)
		place := fmt.Sprintf("bytes %d-%d/%d", from, from+n-1, size)
		r, err = c.sendArchive(ctx, http.MethodPatch, path, place, io.NewSectionReader(archive, from, n))
		if from == 0 && (Is(err, "NOT_FOUND") || Is(err, "METHOD_NOT_ALLOWED")) {
			return c.sendArchive(ctx, http.MethodPost, "/archive", "", io.NewSectionReader(archive, 0, size))
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// sendArchive sends an archive or a part of one, and returns the result of the import. For a part,
// place is the value of the Content-Range header. The result of each part but the last is the zero
// value.
func (c *Client) sendArchive(ctx context.Context, method, path, place string, content *io.SectionReader) (r Imported, err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.URL()+path, io.NopCloser(content))
	if err != nil {
		return r, err
	}
	request.ContentLength = content.Size()
	request.GetBody = func() (io.ReadCloser, error) {
		_, err := content.Seek(0, io.SeekStart)
		return io.NopCloser(content), err
	}
	request.Header.Set("Content-Type", "application/zip")
	if place != "" {
		request.Header.Set("Content-Range", place)
	}
	answer, err := c.withoutTimeout().answer(ctx, request)
	if err != nil {
		return r, err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNoContent {
		return r, nil
	}
	err = json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&r)
	if err != nil {
		err = errors.Join(fmt.Errorf("the response of %s can't be read", c.URL()), err)
	}
	return r, err
}

// withoutTimeout returns a copy of c without a time limit, for requests with much data.
func (c *Client) withoutTimeout() *Client {
	u := &Client{base: c.URL(), token: c.token, http: c.http}
	u.http.Timeout = 0
	return u
}
