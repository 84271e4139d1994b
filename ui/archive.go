package ui

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"github.com/a-h/templ"

	"tracker/server/web"
	"tracker/store"
	"tracker/store/archive"
	"tracker/store/domain"
	"tracker/ui/plain"
)

// importView is the view of the page that imports archives.
type importView struct {
	Most   int64           // maximum archive size in bytes, 0 for no limit
	Name   string          // file name of the archive
	Result *archive.Result // nil before an import
	Wrong  string
}

// exportProject responds with an archive of a project.
func (s *site) exportProject(w http.ResponseWriter, r *http.Request, user domain.User) error {
	p, err := s.DB.Projects.Project(r.Context(), user.Actor(), idOf(r))
	if err != nil {
		return err
	}
	return s.sendArchive(w, r, user, p.Name, archive.Query{ProjectID: p.ID})
}

// exportExperiment responds with an archive of an experiment. If the query contains a filter,
// the archive contains only matching runs.
func (s *site) exportExperiment(w http.ResponseWriter, r *http.Request, user domain.User) error {
	e, err := s.DB.Projects.Experiment(r.Context(), user.Actor(), idOf(r))
	if err != nil {
		return err
	}
	return s.sendArchive(w, r, user, e.Name, archive.Query{ExperimentID: e.ID, Filter: searchOf(r.URL.Query()).Filter})
}

// exportRuns responds with an archive of the runs in the query.
func (s *site) exportRuns(w http.ResponseWriter, r *http.Request, user domain.User) error {
	ids := r.URL.Query()["i"]
	if len(ids) == 0 {
		return errBrokenForm
	}
	return s.sendArchive(w, r, user, "runs", archive.Query{IterationIDs: ids})
}

// sendArchive writes the whole archive to a file and then sends the file. An export that fails
// therefore gets an error response, and browsers know the size of the download.
func (s *site) sendArchive(w http.ResponseWriter, r *http.Request, user domain.User, name string, q archive.Query) error {
	f, err := s.DB.Archive.ScratchFile()
	if err != nil {
		return err
	}
	defer func() {
		f.Close()
		os.Remove(f.Name())
	}()
	if err := s.DB.Archive.Export(r.Context(), user.Actor(), q, archive.Options{Report: true}, f); err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", web.Attachment(name+".zip"))
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	if r.Method == http.MethodHead {
		return nil
	}
	_, err = io.Copy(w, f) // err != nil if the client has disconnected
	web.InfoOf(r).Err = err
	return nil
}

// imports shows the page that imports archives.
func (s *site) imports(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.showImport(w, r, user, http.StatusOK, importView{})
}

func (s *site) showImport(w http.ResponseWriter, r *http.Request, user domain.User, status int, v importView) error {
	return s.show(w, r, user, status, func(db *store.View) (templ.Component, error) {
		f, err := s.inside(db, "Import an archive", user, place{})
		if err != nil {
			return nil, err
		}
		v.Most = s.DB.Files.MaxUpload()
		f.Module = "import.js"
		f.Crumbs = []crumb{{"Projects", "/"}, {Name: "Import"}}
		return importPage(f, v), nil
	})
}

// importArchive imports the archive that the user uploaded in the form.
func (s *site) importArchive(w http.ResponseWriter, r *http.Request, user domain.User) error {
	v, err := s.receiveArchive(r, user)
	if err == nil {
		return s.showImport(w, r, user, http.StatusOK, v)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, drained)) // returns an error if the sender has disconnected
	e := formError(err)
	if refused := web.AsError(err); refused != nil && web.StatusOf(refused.Code) == http.StatusForbidden {
		e = refused
	}
	if e == nil {
		return err
	}
	v.Wrong = e.Message
	return s.showImport(w, r, user, web.StatusOf(e.Code), v)
}

func (s *site) receiveArchive(r *http.Request, user domain.User) (v importView, err error) {
	web.AllowUpload(r)
	parts, err := r.MultipartReader()
	if err != nil {
		return v, errNotForm
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return v, domain.Invalid("archive", "Choose a file first.")
		}
		if err != nil {
			return v, errBrokenUpload
		}
		if part.FormName() != "archive" || part.FileName() == "" {
			continue
		}
		v.Name = plain.Readable(part.FileName())
		body := &watched{r: part}
		v.Result, err = s.DB.Archive.Receive(r.Context(), user.Actor(), body, archive.ImportOptions{})
		if body.failed {
			err = errBrokenUpload
		}
		return v, err
	}
}

// watched is a reader that records whether a read failed.
type watched struct {
	r      io.Reader
	failed bool
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.failed = w.failed || err != nil && err != io.EOF
	return n, err
}

// archive returns the path at which the browser downloads an archive of the runs.
func (v *changeView) archive() string {
	query := url.Values{}
	for _, r := range v.Runs {
		query.Add("i", r.ID)
	}
	return "/archive?" + query.Encode()
}

// archive returns the path at which the browser downloads an archive of the runs that match the
// filter.
func (v bulkView) archive() string {
	path := "/experiment/" + v.Experiment.ID + "/archive"
	if v.Filter != "" {
		path += "?" + url.Values{"filter": {v.Filter}}.Encode()
	}
	return path
}
