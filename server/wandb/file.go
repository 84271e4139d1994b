package wandb

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/scalar"
	"tracker/store/transfer"
	"tracker/store/wandb"
)

const (
	// linkParameter is the name of the query parameter that contains credentials.
	linkParameter = "token"
	// linkAge is the lifetime of the credentials in an address.
	linkAge = 24 * time.Hour
)

// subject returns a name for the requested file. Credentials in an address are valid only for one
// subject.
func (c *call) subject() string {
	if id := c.vars["artifact"]; id != "" {
		return artifactSubject(id, c.vars["name"])
	}
	return subjectOf(c.vars["project"], c.vars["run"], c.vars["name"])
}

func subjectOf(project, run, name string) string {
	return url.PathEscape(project) + "/" + url.PathEscape(run) + "/" + name
}

// fileURL returns the address of a run's file.
func (c *call) fileURL(entity, project, run, name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return fmt.Sprintf("%s/files/%s/%s/%s/%s", c.base(), url.PathEscape(entity), url.PathEscape(project), url.PathEscape(run), strings.Join(parts, "/"))
}

// linkURL is like fileURL, but adds credentials that are valid for linkAge.
func (c *call) linkURL(entity, project, run, name string) (string, error) {
	link, err := c.s.auth.Link(c.user, subjectOf(project, run, name), linkAge)
	return c.fileURL(entity, project, run, name) + "?" + linkParameter + "=" + link, err
}

func (c *call) writeFile() error {
	id, err := c.iteration()
	if err != nil {
		return err
	}
	sent := cleanName(c.vars["name"])
	tree, name := files.Tree{IterationID: id}, transfer.FitPath(sent)
	if err := c.db.Files.AllowFile(c.ctx, c.actor, tree, name); err != nil {
		return err
	}
	web.AllowUpload(c.r)
	if err := c.db.Files.CheckSize(c.r.ContentLength); err != nil {
		return err
	}
	body := sentFile(c.r)
	if name == metadataName {
		return c.writeMetadata(id, name, body)
	}
	if name != sent {
		if err := c.lose(id, "The name of a file, "+scalar.Quote(sent)+", was changed to \""+name+"\"."); err != nil {
			return err
		}
	}
	if err := c.put(id, name, typeOf(c.r.Header.Get("Content-Type"), name), body); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusOK)
	return nil
}

// lose adds the message what to the run's list of data losses.
func (c *call) lose(id, what string) error {
	_, err := c.db.Wandb.Append(c.ctx, c.actor, id, wandb.Stream{Lost: []string{what}})
	return err
}

// typeOf returns the content type for the extension of name. If the extension is unknown,
// typeOf returns the type given by the client, or "" if that type is invalid.
func typeOf(given, name string) string {
	if strings.HasSuffix(name, ".log") {
		return "text/plain; charset=utf-8"
	}
	if known := mime.TypeByExtension(path.Ext(name)); known != "" {
		return known
	}
	if _, _, err := mime.ParseMediaType(given); err == nil {
		return given
	}
	return ""
}

func (c *call) readFile() error {
	id, err := c.iteration()
	if err != nil {
		return err
	}
	return c.serveFile(id, transfer.FitPath(c.vars["name"]))
}

// serveFile sends the bytes of a run's file.
func (c *call) serveFile(id, name string) error {
	r, content, err := c.db.Files.OpenFile(c.ctx, c.actor, files.Tree{IterationID: id}, name)
	if err != nil {
		return err
	}
	defer content.Close()
	c.w.Header().Set("Content-Type", r.ContentType)
	c.w.Header().Set("Content-Disposition", web.Attachment(r.Name))
	web.ServeContent(c.w, c.r, r, content, func(e *domain.Error) { writeError(c.w, c.r, e) })
	return nil
}

// sentFile returns the file in a request body. A read error has the code domain.CodeUnavailable,
// because clients retry after this error.
func sentFile(r *http.Request) io.Reader { return web.FileBody(r, domain.CodeUnavailable) }

// put reads r to its end and stores the bytes as a file of a run.
func (c *call) put(id, name, contentType string, r io.Reader) error {
	data, err := c.db.Files.Receive(c.ctx, r, "")
	if err != nil {
		return err
	}
	defer data.Discard()
	return c.db.Files.WriteFile(c.ctx, c.actor, files.Tree{IterationID: id}, name, contentType, data)
}

// isNotFound reports whether err means that a record does not exist.
func isNotFound(err error) bool {
	return err != nil && domain.AsError(err).Code == domain.CodeNotFound
}
