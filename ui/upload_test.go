package ui_test

import (
	"bytes"
	"mime/multipart"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/projects"
)

// fileForm returns the body of a form with files in it.
func fileForm(t *testing.T, fields map[string]string, names ...string) (*bytes.Buffer, edit) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range fields {
		if err := w.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		part, err := w.CreateFormFile("data", name)
		if err == nil {
			_, err = part.Write([]byte("the bytes of " + name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b, header("Content-Type", w.FormDataContentType())
}

func TestUpload(t *testing.T) {
	s := start(t, setup{auth: true, base: "/lab", maxUpload: 1000})
	w := s.sweep(1, 0)
	alice, bob := with(s.signIn("alice")), with(s.signIn("bob"))
	page, data := "/lab/experiment/"+w.experiment+"/artifacts", "/lab/data/experiment/"+w.experiment+"/artifacts"
	send := func(path string, fields map[string]string, who edit, names ...string) answer {
		body, kind := fileForm(t, fields, names...)
		return s.do("POST", path, body, kind, who)
	}
	of := map[string]string{"iteration_id": w.runs[0]}
	send(page, of, alice, "a.txt", "<img src=x onerror=alert(1)>.txt").redirects(t, page)
	a := s.get(page, alice)
	a.wants(t, 200, "a.txt", "run 1", "&lt;img src=x")
	a.lacks(t, "<img")
	var made struct{ IDs []string }
	send(data, nil, alice, "b.txt").json(t, 201, &made)
	if r, err := s.db.Files.Artifact(t.Context(), s.actor("alice"), made.IDs[0]); err != nil || r.Name != "b.txt" || r.IterationID != nil {
		t.Errorf("kept %+v (%v)", r, err)
	}

	send(page, nil, alice).wants(t, 422, "Choose a file first.", `data-testid="wrong-upload"`)
	send(page, map[string]string{"iteration_id": "none"}, alice, "c.txt").wants(t, 422, "iteration_id must belong to the same experiment")
	send(page, nil, bob, "c.txt").wants(t, 403)
	send(data, nil, bob, "c.txt").wants(t, 403, "PROJECT_PERMISSION_REQUIRED")
	s.do("POST", data, strings.NewReader("x"), header("Content-Type", "text/plain"), alice).wants(t, 415)
	s.do("POST", data, strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"data\"; filename=\"d\"\r\n\r\nhalf"),
		header("Content-Type", "multipart/form-data; boundary=x"), alice).wants(t, 400, "The file is incomplete.")
	s.do("POST", data, strings.NewReader(""), header("Sec-Fetch-Site", "cross-site"), alice).wants(t, 403)

	long := strings.Repeat("x", 251)
	send(page, nil, alice, long).wants(t, 422, "name must have at most 250 characters")
	var large bytes.Buffer
	m := multipart.NewWriter(&large)
	part, _ := m.CreateFormFile("data", "large.bin")
	part.Write(make([]byte, 200_000))
	m.Close()
	s.do("POST", page, &large, header("Content-Type", m.FormDataContentType()), alice).
		wants(t, 413, "at most 1000 bytes", `data-testid="wrong-upload"`)

	s.get(data+"?size=1000", alice).wants(t, 200)
	s.get(data+"?size=1001", alice).wants(t, 413, "at most 1000 bytes")
	s.get(data+"?size=1", bob).wants(t, 403)
	ended := domain.Stopped
	if err := s.db.Projects.UpdateExperiment(t.Context(), s.actor("alice"), w.experiment, projects.ExperimentPatch{Status: &ended}); err != nil {
		t.Fatal(err)
	}
	s.get(data+"?size=1", alice).wants(t, 422, "EXPERIMENT_NOT_IN_PROGRESS")
	send(page, nil, alice, "late.txt").wants(t, 422, `data-testid="wrong-upload"`)
	send(data, nil, alice, "late.txt").wants(t, 422, "EXPERIMENT_NOT_IN_PROGRESS")
}
