package ui

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/ui/plain"
)

const (
	// drained is the maximum size in bytes of a request body that is read and discarded after
	// the request was rejected. Browsers read the response only after they have sent the body.
	drained = 1 << 30
	// maxID is the maximum length in bytes of the form field that precedes the files.
	maxID = 100
)

var errBrokenUpload = domain.Errorf(web.CodeMalformedBody, "The file is incomplete. Send it again.")

// uploadData stores files that a script uploads, and responds with the IDs of the new
// artifacts.
func (s *site) uploadData(w http.ResponseWriter, r *http.Request) error {
	user, err := s.Auth.CookieUser(r)
	if err != nil {
		web.WriteError(w, r, err)
		return nil
	}
	web.InfoOf(r).User = user.Username
	made, _, err := s.receive(r, user)
	if err != nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, drained)) // returns an error if the client has disconnected
		web.WriteError(w, r, err)
		return nil
	}
	web.WriteJSON(w, r, http.StatusCreated, map[string][]string{"ids": made})
	return nil
}

// upload stores files from a form that the browser submitted without a script.
func (s *site) upload(w http.ResponseWriter, r *http.Request, user domain.User) error {
	_, iteration, err := s.receive(r, user)
	if err == nil {
		s.redirect(w, r, "/experiment/"+idOf(r)+"/artifacts")
		return nil
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, drained)) // returns an error if the client has disconnected
	if e := formError(err); e != nil {
		return s.showArtifacts(w, r, user, web.StatusOf(e.Code), artifactsView{Only: iteration, Wrong: e.Message})
	}
	return err
}

// uploadAsked checks whether the server would accept a file of the given size. Scripts call
// uploadAsked before they send a large file.
func (s *site) uploadAsked(r *http.Request, actor domain.Actor) (any, error) {
	bytes, err := strconv.ParseInt(r.URL.Query().Get("size"), 10, 64)
	if err != nil || bytes < 0 {
		return nil, domain.Invalid("size", "size must be the size of the file in bytes.")
	}
	if err = s.DB.Files.CheckSize(bytes); err == nil {
		err = s.DB.Files.AllowUpload(r.Context(), actor, idOf(r))
	}
	return struct{}{}, err
}

// receive creates artifacts from the files in a form. If the form has a field with the run's
// ID, this field must come before the files.
func (s *site) receive(r *http.Request, user domain.User) (made []string, iteration string, err error) {
	actor, experiment := user.Actor(), idOf(r)
	if err := s.DB.Files.AllowUpload(r.Context(), actor, experiment); err != nil {
		return nil, "", err
	}
	web.AllowUpload(r)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, "", errNotForm
	}
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return made, iteration, errBrokenUpload
		}
		if part.FormName() == "iteration_id" {
			value, err := io.ReadAll(io.LimitReader(part, maxID))
			if err != nil {
				return made, iteration, errBrokenUpload
			}
			iteration = plain.Readable(string(value))
			continue
		}
		if part.FileName() == "" {
			continue // the user chose no file
		}
		id, err := s.receiveFile(r, actor, experiment, iteration, part)
		if err != nil {
			return made, iteration, err
		}
		made = append(made, id)
	}
	if len(made) == 0 {
		return nil, iteration, domain.Invalid("data", "Choose a file first.")
	}
	return made, iteration, nil
}

func (s *site) receiveFile(r *http.Request, actor domain.Actor, experiment, iteration string, part *multipart.Part) (string, error) {
	n := files.NewArtifact{Name: part.FileName(), IterationID: iteration, ContentType: part.Header.Get("Content-Type")}
	n.Name = n.Name[strings.LastIndexAny(n.Name, `/\`)+1:]
	if err := files.CheckArtifact(files.ArtifactPatch{Name: &n.Name}); err != nil {
		return "", err
	}
	data, err := s.DB.Files.Receive(r.Context(), part, "")
	if err != nil {
		var e *domain.Error
		if !errors.As(err, &e) {
			return "", errBrokenUpload
		}
		return "", err
	}
	defer data.Discard()
	made, err := s.DB.Files.CreateArtifact(r.Context(), actor, experiment, n, data)
	return made.ID, err
}
