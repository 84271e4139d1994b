package imports

import (
	"context"
	"io"

	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/registry"
	"tracker/store/transfer"
)

// Put stores an artifact. If a stored artifact has the same size and modification time, Put does
// not read the bytes. Put does not restore an artifact that is in the trash.
func (im importer) Put(ctx context.Context, a transfer.Artifact) (stored bool, err error) {
	id := a.ID.String()
	former, err := im.files.Artifact(ctx, im.actor, id)
	exists := err == nil
	if err != nil && domain.AsError(err).Code != domain.CodeNotFound {
		return false, err
	}
	if !exists {
		_, err := im.files.Artifact(domain.WithTrash(ctx), im.actor, id)
		if err == nil {
			return false, nil // a user deleted the artifact after an earlier import
		}
		if domain.AsError(err).Code != domain.CodeNotFound {
			return false, err
		}
	}
	if exists && former.SizeBytes == a.Size && former.CreatedDate == a.Modified {
		return false, nil
	}
	to := files.NewArtifact{ID: id, Name: a.Name, ContentType: a.ContentType, CreatedDate: &a.Modified}
	var experimentID string
	if a.LoggedModel != "" {
		m, err := im.models.LoggedModel(ctx, im.actor, a.LoggedModel)
		if err != nil {
			return false, err
		}
		experimentID, to.Name = m.ExperimentID, registry.LoggedModelFolder(m.ID)+a.Name
	} else {
		it, err := im.runs.Iteration(ctx, im.actor, a.RunID.String())
		if err != nil {
			return false, err
		}
		experimentID, to.IterationID = it.ExperimentID, it.ID
	}
	content, err := a.Open()
	if err != nil {
		return false, &transfer.ReadError{Err: err}
	}
	defer content.Close()
	got, err := im.files.Receive(ctx, sourceReader{content}, "")
	if err != nil {
		return false, err
	}
	if exists && got.Hash == former.ContentHash {
		got.Discard()
		return false, nil
	}
	if exists {
		return true, im.files.UpdateArtifact(ctx, im.actor, id, files.ArtifactPatch{}, got)
	}
	_, err = im.files.CreateArtifact(ctx, im.actor, experimentID, to, got)
	return err == nil, err
}

// sourceReader wraps read errors of a source in transfer.ReadError.
type sourceReader struct{ r io.Reader }

func (s sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		err = &transfer.ReadError{Err: err}
	}
	return n, err
}
