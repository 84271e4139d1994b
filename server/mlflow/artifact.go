package mlflow

import (
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/files"
)

// artifactAPI is the path prefix of the artifact routes.
const artifactAPI = "/api/2.0/mlflow-artifacts/"

func (s *Server) artifactRoutes() []route {
	file := func(method string, h handler) route {
		return route{method: method, path: artifactAPI + "artifacts/{path:.+}", handle: h, stream: true}
	}
	return []route{
		get("artifacts/list", with((*call).listRunArtifacts)),
		{method: "GET", path: artifactAPI + "artifacts", handle: with((*call).listArtifacts)},
		file("GET", (*call).readArtifact),
		file("PUT", (*call).writeArtifact),
		file("DELETE", do((*call).deleteArtifact)),
		{method: "POST", path: artifactAPI + "mpu/create/{path:.+}", handle: noMultipart},
	}
}

// place is a file or folder in the artifacts of a run or logged model.
type place struct {
	tree files.Tree
	path string // "" for the root folder
}

// placeOf parses an artifact path. The path begins with {experiment}/{run}/artifacts or
// {experiment}/models/{model}/artifacts, and can continue with the path of a file or folder.
func placeOf(p string) (at place, err error) {
	p = strings.Trim(p, "/")
	if err := checkPath(p); err != nil {
		return at, err
	}
	parts := strings.Split(p, "/")
	switch {
	case len(parts) >= 4 && parts[1] == "models" && parts[3] == "artifacts":
		at.tree.LoggedModelID, parts = parts[2], parts[4:]
	case len(parts) >= 3 && parts[2] == "artifacts":
		at.tree.IterationID, parts = expand(parts[1]), parts[3:]
	default:
		return at, domain.Errorf(domain.CodeNotFound, "There are no artifacts at %q; use the artifact_uri of a run.", web.Clip(p))
	}
	at.path = strings.Join(parts, "/")
	return at, nil
}

// checkPath returns an error if a path contains "." or ".." as a part, even after repeated
// unescaping.
func checkPath(p string) error {
	for range 4 {
		for part := range strings.FieldsFuncSeq(p, func(r rune) bool { return r == '/' || r == '\\' }) {
			if part == ".." || part == "." {
				return domain.Invalid("path", "Invalid path: it must not have a part that is \".\" or \"..\".")
			}
		}
		unescaped, err := url.PathUnescape(p)
		if err != nil || unescaped == p {
			return nil
		}
		p = unescaped
	}
	return domain.Invalid("path", "Invalid path: it is escaped several times.")
}

type fileInfo struct {
	Path   string `json:"path"`
	Folder bool   `json:"is_dir"`
	Size   *int64 `json:"file_size,omitzero"`
}

type fileList struct {
	Root  string     `json:"root_uri,omitzero"`
	Files []fileInfo `json:"files,omitzero"`
}

// files lists the files and folders in a folder. It adds prefix to each name.
func (c *call) files(at place, prefix string) ([]fileInfo, error) {
	found, err := c.db.Files.Files(domain.WithTrash(c.ctx), c.actor, at.tree, at.path)
	var files []fileInfo
	for _, f := range found {
		info := fileInfo{Path: prefix + f.Name, Folder: f.Folder}
		if !f.Folder {
			info.Size = &f.Size
		}
		files = append(files, info)
	}
	return files, err
}

type folderQuery struct {
	Path text `json:"path"`
}

func (c *call) listArtifacts(in folderQuery) (out fileList, err error) {
	at, err := placeOf(string(in.Path))
	if err != nil {
		return out, err
	}
	out.Files, err = c.files(at, "")
	return out, err
}

type runFolderQuery struct {
	runRef
	Path text `json:"path"`
}

func (c *call) listRunArtifacts(in runFolderQuery) (out fileList, err error) {
	id, err := in.id()
	if err != nil {
		return out, err
	}
	folder := strings.Trim(string(in.Path), "/")
	if err := checkPath(folder); err != nil {
		return out, err
	}
	r, err := c.db.Runs.Iteration(domain.WithTrash(c.ctx), c.actor, id)
	if err != nil {
		return out, err
	}
	out.Root = runArtifacts(r.ExperimentID, r.ID)
	prefix := ""
	if folder != "" {
		prefix = folder + "/"
	}
	out.Files, err = c.files(place{files.Tree{IterationID: id}, folder}, prefix)
	return out, err
}

func (c *call) readArtifact() error {
	at, err := placeOf(c.vars["path"])
	if err != nil {
		return err
	}
	r, data, err := c.db.Files.OpenFile(domain.WithTrash(c.ctx), c.actor, at.tree, at.path)
	if err != nil {
		return err
	}
	defer data.Close()
	c.w.Header().Set("Content-Type", r.ContentType)
	c.w.Header().Set("Content-Disposition", web.Attachment(r.Name))
	web.ServeContent(c.w, c.r, r, data, func(e *domain.Error) { writeError(c.w, c.r, e) })
	return nil
}

func (c *call) writeArtifact() error {
	at, err := placeOf(c.vars["path"])
	if err != nil {
		return err
	}
	if err := c.db.Files.AllowFile(c.ctx, c.actor, at.tree, at.path); err != nil {
		return c.activeRun(at.tree.IterationID, err)
	}
	web.AllowUpload(c.r)
	if err := c.db.Files.CheckSize(c.r.ContentLength); err != nil {
		return err
	}
	data, err := c.db.Files.Receive(c.ctx, web.FileBody(c.r, web.CodeMalformedBody), "")
	if err != nil {
		return err
	}
	defer data.Discard()
	if err := c.db.Files.WriteFile(c.ctx, c.actor, at.tree, at.path, contentType(c.r, at.path), data); err != nil {
		return err
	}
	web.WriteJSON(c.w, c.r, http.StatusOK, empty{})
	return nil
}

// contentType returns the request's content type. If there is none, it returns the type for the
// file name's extension.
func contentType(r *http.Request, name string) string {
	given := r.Header.Get("Content-Type")
	if _, _, err := mime.ParseMediaType(given); err == nil && given != files.DefaultContentType {
		return given
	}
	return mime.TypeByExtension(path.Ext(name))
}

func (c *call) deleteArtifact(struct{}) error {
	at, err := placeOf(c.vars["path"])
	if err != nil {
		return err
	}
	return c.db.Files.DeleteFiles(c.ctx, c.actor, at.tree, at.path)
}

// noMultipart rejects a multipart upload. Clients recognize the beginning of its message and then
// send the file in a single request.
func noMultipart(*call) error {
	return &refusal{http.StatusNotImplemented, codeNotImplemented,
		"Multipart upload is not supported for the current artifact repository; the file is sent in one request instead."}
}
