package cmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tracker/client/rest"
	"tracker/store"
	"tracker/store/archive"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/transfer"
)

// elsewhere imports the sources into a remote server. It reads each source into a temporary
// database, compares that database with the server and sends archives of the new and changed
// records. Ids are computed from the source, so the server recognizes the records that it already
// has.
func (i *importing) elsewhere(ctx context.Context) error {
	return i.each(func(s foundSource) (r *transfer.Result, err error) {
		if s.kind.Name == formatArchive {
			return i.sendArchive(ctx, s.path)
		}
		dir, err := os.MkdirTemp("", "tracker-import-")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		return i.through(ctx, s, dir)
	})
}

// through imports a source into a temporary database in dir and sends the new records to the
// server.
func (i *importing) through(ctx context.Context, s foundSource, dir string) (r *transfer.Result, err error) {
	cfg := i.cfg
	cfg.DBFile, cfg.ArtifactRoot, cfg.ArtifactBackend = filepath.Join(dir, "tracker.db"), filepath.Join(dir, "artifacts"), string(artifact.Filesystem)
	db, err := store.Open(ctx, store.Options{Path: cfg.DBFile, Logger: i.app.logger(cfg), Backends: cfg.backends(), UploadDir: cfg.uploadDir()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	sending := syncing{db: db, client: i.client, dry: i.options.DryRun, bar: i.app.recordProgress("Sending records")}
	name := i.options.Project
	if name == "" {
		name = s.kind.Project
	}
	if err := sending.fetchProject(ctx, name); err != nil {
		return nil, err
	}
	whole := *i
	whole.options.DryRun = false // a dry run writes only to the temporary database
	read, err := whole.source(ctx, s, db.Imports.Sink(domain.System))
	r = &transfer.Result{Kind: read.Kind, Path: read.Path, Found: read.Found, Dropped: read.Dropped, Losses: []transfer.Loss{}}
	for _, l := range read.Losses {
		r.Lose(l.Path, "%s", l.Reason)
	}
	r.Lost += read.Lost - len(read.Losses)
	if err != nil {
		return r, err
	}
	projects, err := db.Projects.Projects(ctx, domain.System, projects.ProjectQuery{Page: domain.Page{Limit: domain.MaxLimit}})
	if err != nil {
		return r, err
	}
	for _, p := range projects.Data {
		one := sending
		one.project, one.result = p.ID, &syncResult{Losses: []transfer.Loss{}}
		one.deliver = func(ctx context.Context, records []string, _ map[string]string) ([]string, error) {
			return one.send(ctx, records, nil)
		}
		err := one.run(ctx, "push")
		if err := errors.Join(err, one.addTo(ctx, r)); err != nil {
			return r, err
		}
	}
	return r, nil
}

// fetchProject copies the project with the given name and its experiments from the server into the
// temporary database, so that the import adds its runs to these experiments.
func (s *syncing) fetchProject(ctx context.Context, name string) error {
	s.project = transfer.ID("project", name).String() // the id that an import computes for the project
	err := s.fetchRecord(ctx)
	if !rest.Is(err, string(domain.CodeNotFound)) {
		return err
	}
	p, err := s.client.OwnProject(ctx, name)
	if errors.Is(err, rest.ErrNoProject) {
		return nil
	}
	if err != nil {
		return err
	}
	s.project = p.ID
	return s.fetchRecord(ctx)
}

// fetchRecord copies the project's record, models and model versions from the server, so that the
// import gives unused numbers to the model versions of the source.
func (s *syncing) fetchRecord(ctx context.Context) error {
	records := []string{"project/" + s.project}
	there, err := s.client.Records(ctx, s.project)
	if err != nil {
		return err
	}
	for _, r := range there {
		if strings.HasPrefix(r.Record, "model/") || strings.HasPrefix(r.Record, "model_version/") {
			records = append(records, r.Record)
		}
	}
	for some := range slices.Chunk(records, sentRecords) {
		err := s.archive(func(f *os.File) error {
			if err := s.client.Archive(ctx, s.project, some, f); err != nil {
				return err
			}
			_, err := s.db.Archive.Import(ctx, domain.System, f.Name(), archive.ImportOptions{NoArtifacts: true})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addTo adds the sent records, or in a dry run the records that would be sent, to the result of an
// import.
func (s *syncing) addTo(ctx context.Context, r *transfer.Result) error {
	for _, record := range s.order {
		id, isRun := strings.CutPrefix(record, "iteration/")
		switch {
		case !isRun:
			continue
		case s.same[record]:
			r.Unchanged++
			continue
		case !s.dry:
			continue // addAnswer counts these records
		case s.to[record].Record == "":
			r.Created++
		default:
			r.Grown++
		}
		summary, err := s.db.Runs.Summary(ctx, domain.System, id)
		if err != nil {
			return err
		}
		r.Parameters += len(summary.Params)
		r.Tags += len(summary.Tags)
		for _, m := range summary.Metrics {
			r.Points += int(m.Count)
		}
	}
	addAnswer(r, s.answers)
	for _, l := range s.result.Losses {
		r.Lose(l.Path, "%s", l.Reason)
	}
	return nil
}

// addAnswer adds the counts in the server's response to r.
func addAnswer(r *transfer.Result, a rest.Imported) {
	r.Created += a.Created
	r.Grown += a.Grown
	r.Unchanged += a.Unchanged
	r.LeftOut += a.LeftOut
	r.Parameters += a.Parameters
	r.Tags += a.Tags
	r.Points += a.Points
	r.Artifacts += a.Artifacts
	r.Bytes += a.Bytes
}

// sendArchive sends the archive at path without changes.
func (i *importing) sendArchive(ctx context.Context, path string) (r *transfer.Result, err error) {
	if err := checkArchiveOptions(i.options); err != nil {
		return nil, err
	}
	if i.options.DryRun || i.options.NoArtifacts {
		return nil, misuse("an archive is sent to a server unchanged: --dry-run and --no-artifacts are for a local database")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	got, err := i.client.Import(ctx, f, info.Size())
	if err != nil {
		return nil, err
	}
	r = &transfer.Result{Kind: formatArchive, Path: path, Found: got.Found, Losses: []transfer.Loss{}}
	addAnswer(r, got)
	for _, l := range got.Losses {
		r.Lose(l.Path, "%s", l.Reason)
	}
	r.Lost = got.Lost
	return r, nil
}
