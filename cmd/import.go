package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tracker/client/rest"
	"tracker/store"
	"tracker/store/archive"
	"tracker/store/artifact"
	"tracker/store/domain"
	"tracker/store/transfer"
	format "tracker/store/transfer/archive"
	"tracker/store/transfer/dvclive"
	"tracker/store/transfer/mlflow"
	"tracker/store/transfer/neptune"
	"tracker/store/transfer/sacred"
	"tracker/store/transfer/table"
	"tracker/store/transfer/tensorboard"
	"tracker/store/transfer/trackio"
	"tracker/store/transfer/wandb"
)

// importKinds returns the kinds of sources in the order in which the command tries to detect
// them.
func importKinds() []transfer.Kind {
	return []transfer.Kind{tensorboard.Kind(), mlflow.Kind(), table.Kind(), wandb.Kind(), trackio.Kind(), sacred.Kind(), dvclive.Kind(), neptune.Kind()}
}

// incomplete is the error of an import, export or copy that could not include all records. The
// command exits with code 3.
type incomplete struct{ error }

func (a *app) importCommand() *cobra.Command {
	var o transfer.Options
	var steps string
	p := api{app: a}
	kinds := importKinds()
	var names, titles []string
	for _, k := range kinds {
		names = append(names, k.Name)
		titles = append(titles, fmt.Sprintf("  %-12s %s", k.Name, k.Title))
	}
	kinds = append(kinds, archiveKind())
	names, titles = append(names, "archive"), append(titles, fmt.Sprintf("  %-12s %s", "archive", archiveTitle))
	cmd := &cobra.Command{
		Use:     "import [KIND] PATH...",
		GroupID: groupDatabase,
		Short:   "Import runs from the files of other tools",
		Long: `Import runs from the files of other tools. The kind of source at a path
is detected; KIND is needed only if it is ambiguous:

` + strings.Join(titles, "\n") + `

The runs are written to the database, which is created if it does not exist and which a
server may use at the same time. The source is not changed. With --url the runs are sent to
another server, with the token of ` + "`tracker login`" + ` or TRACKER_TOKEN.

Importing again is safe: it adds only new data. An import that was stopped continues
where it left off.

Exit codes: 0 if everything was imported, 3 if something was left out, which the summary
lists, 1 if the import failed.`,
		Example: `  tracker import runs/
  tracker import tensorboard runs/ --project vision --experiment resnet
  tracker import runs/ --dry-run
  tracker import runs/ --url https://lab:9000`,
		Args: cobra.MinimumNArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if err := checkSteps(steps); err != nil {
				return err
			}
			o.KeepAll = steps == "all"
			if o.Deleted && p.url != "" {
				return misuse("--deleted is for a local database: deleted runs go to its trash, and nothing in the trash is sent to a server")
			}
			if err := checkArtifactFolder(o.ArtifactFolder); err != nil {
				return err
			}
			kind := ""
			if _, err := os.Stat(args[0]); errors.Is(err, fs.ErrNotExist) && slices.Contains(names, args[0]) || len(args) > 1 && slices.Contains(names, args[0]) {
				kind, args = args[0], args[1:]
			}
			if len(args) == 0 {
				return misuse("name the file or folder to import, as in `tracker import " + kind + " PATH`")
			}
			cfg, err := a.load(cmd)
			if err != nil {
				return err
			}
			i := importing{app: a, cfg: cfg, options: o, asJSON: p.asJSON}
			if err := i.find(kinds, kind, args); err != nil {
				return err
			}
			if p.url == "" {
				return i.here(cmd.Context())
			}
			if i.client, err = p.client(); err != nil {
				return err
			}
			return i.elsewhere(cmd.Context())
		}),
	}
	addSettings(cmd, append([]string{"SERVICE_DB_FILE", "SERVICE_TRASH_DAYS"}, artifactSettings...)...)
	f := cmd.Flags()
	f.StringVar(&o.Project, "project", "", "`name` of the project (default: from the source, or the name of its kind)")
	f.StringVar(&o.Experiment, "experiment", "", "`name` of the experiment (default: from the source, or the name of its folder)")
	f.StringVar(&o.Name, "name", "", "`name` of the run, if the source has only one")
	f.StringArrayVar(&o.Only, "only", nil, "only runs, experiments and models whose names match `pattern`, such as resnet*; can be repeated")
	f.BoolVar(&o.Deleted, "deleted", false, "also import records that are marked as deleted in the source, into the trash")
	f.BoolVar(&o.NoArtifacts, "no-artifacts", false, "leave out artifacts")
	f.StringVar(&o.ArtifactFolder, "mlflow-artifacts", "", "`folder` in which the MLflow server keeps artifacts, its --artifacts-destination (default: mlartifacts beside the store)")
	f.BoolVar(&o.DryRun, "dry-run", false, "show what would be imported without changing anything")
	f.StringVar(&steps, "steps", "rewind", "`which` points of a restarted run to keep: rewind (repeated steps of the last start only) or all")
	f.StringVar(&o.Step, "step", "", "`column` of a table that has the steps (default: step, global_step, epoch, or else the row number)")
	f.StringVar(&o.Time, "time", "", "`column` of a table that has the times")
	f.BoolVar(&p.asJSON, "json", false, "print the summary as JSON, one line for each path")
	f.StringVar(&p.url, "url", "", "`address` of the API of another server to send the runs to (default: the local database)")
	return cmd
}

// checkArtifactFolder returns an error if path is neither "" nor a folder.
func checkArtifactFolder(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is a file", path)
	}
	if err != nil {
		return fmt.Errorf("--mlflow-artifacts must name the folder in which the MLflow server keeps artifacts: %w", err)
	}
	return nil
}

// importing is the state of one execution of the command.
type importing struct {
	app     *app
	cfg     Config
	options transfer.Options
	asJSON  bool
	sources []foundSource
	client  *rest.Client // client of the remote server; nil for a local import
	lost    int
}

// foundSource is a source that was detected at a path.
type foundSource struct {
	transfer.Source
	kind transfer.Kind
	path string
}

// find detects the sources at all paths.
func (i *importing) find(kinds []transfer.Kind, kind string, paths []string) error {
	for _, path := range paths {
		k, s, err := transfer.Detect(kinds, kind, path)
		if several, ok := errors.AsType[*transfer.AmbiguousError](err); ok {
			return fmt.Errorf("%w, as in `tracker import %s %s`", err, several.Kinds[0], path)
		}
		if err != nil {
			return err
		}
		if k.Name != table.Kind().Name && (i.options.Step != "" || i.options.Time != "") {
			return misuse(fmt.Sprintf("--step and --time are for tables, but %s has %s", path, k.Title))
		}
		i.sources = append(i.sources, foundSource{s, k, path})
	}
	return nil
}

// here imports all sources into the local database, one after another.
func (i *importing) here(ctx context.Context) (err error) {
	backends := i.cfg.existing()
	if !i.options.DryRun && !i.options.NoArtifacts {
		backends = i.cfg.backends() // also creates the artifacts folder
	}
	db, err := i.app.openOrCreate(ctx, i.cfg, backends, i.options.DryRun)
	if err != nil {
		return err
	}
	if db != nil {
		defer func() { err = errors.Join(err, db.Close()) }()
	}
	return i.each(func(s foundSource) (*transfer.Result, error) {
		if s.kind.Name == formatArchive {
			return importArchive(ctx, db, s.path, i.options)
		}
		var sink transfer.Sink = transfer.Nowhere{}
		if db != nil {
			sink = db.Imports.Sink(domain.System)
		}
		return i.source(ctx, s, sink)
	})
}

// source imports the source s into sink and shows the progress.
func (i *importing) source(ctx context.Context, s foundSource, sink transfer.Sink) (*transfer.Result, error) {
	bar := i.app.newByteProgress("Importing "+s.path, s.Size())
	defer bar.end()
	done := int64(0)
	o := i.options
	o.Progress = func(n int64) {
		done += n
		bar.set(done)
	}
	im := transfer.New(sink, o)
	im.Result.Kind, im.Result.Path = s.kind.Name, s.path
	err := im.Run(ctx, s.Source)
	if err == nil {
		err = im.CountUnread(ctx, s.Source)
	}
	return im.Result, err
}

// each calls fn for each source and prints the result.
func (i *importing) each(fn func(foundSource) (*transfer.Result, error)) error {
	for _, s := range i.sources {
		if !i.asJSON {
			fmt.Fprintf(i.app.stdout, "%s: %s\n", s.path, s.kind.Title)
		}
		result, err := fn(s)
		if result == nil {
			return err
		}
		i.lost += result.Lost
		if errors.Is(err, context.Canceled) && !i.asJSON {
			fmt.Fprintln(i.app.stdout, "Stopped before the end; the imported data is kept. Run the same command again to continue.")
		}
		if err := errors.Join(err, i.app.printImport(result, i.options.DryRun, i.asJSON)); err != nil {
			return fmt.Errorf("%w; the imported data is kept. Run the same command again to continue", err)
		}
	}
	if i.lost > 0 {
		return incomplete{fmt.Errorf("%s left out or changed", wasWere(i.lost))}
	}
	return nil
}

const archiveTitle = "archives of tracker export"

// archiveKind returns the kind for tracker archives. importArchive imports them, because their
// records already have ids.
func archiveKind() transfer.Kind {
	return transfer.Kind{Name: formatArchive, Title: archiveTitle, Find: func(path string) (transfer.Source, error) {
		if !format.Is(path) {
			return nil, nil
		}
		return archiveSource{}, nil
	}}
}

type archiveSource struct{}

func (archiveSource) Size() int64 { return 0 }

func (archiveSource) Import(context.Context, *transfer.Import) error { return errors.ErrUnsupported }

// importArchive imports the archive at path into db. db is nil in a dry run without a database.
func importArchive(ctx context.Context, db *store.DB, path string, o transfer.Options) (*transfer.Result, error) {
	if err := checkArchiveOptions(o); err != nil {
		return nil, err
	}
	if db == nil {
		return nil, errors.New("there is no database yet; leave out --dry-run to create it")
	}
	r, err := db.Archive.Import(ctx, domain.System, path, archive.ImportOptions{DryRun: o.DryRun, NoArtifacts: o.NoArtifacts})
	if r == nil {
		return nil, err
	}
	return &r.Result, err
}

// checkArchiveOptions returns an error if o has options that do not apply to archives.
func checkArchiveOptions(o transfer.Options) error {
	if o.Project != "" || o.Experiment != "" || o.Name != "" || len(o.Only) > 0 {
		return misuse("an archive is imported unchanged: --project, --experiment, --name and --only are for other sources")
	}
	return nil
}

func wasWere(n int) string {
	if n == 1 {
		return "1 thing was"
	}
	return count(n) + " things were"
}

// openOrCreate opens the database. If the database does not exist, openOrCreate creates it. In
// a dry run it returns nil for a missing database.
func (a *app) openOrCreate(ctx context.Context, cfg Config, backends artifact.Backends, dry bool) (*store.DB, error) {
	_, err := os.Stat(cfg.DBFile)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing && dry {
		return nil, nil
	}
	db, err := store.Open(ctx, store.Options{Path: cfg.DBFile, Logger: a.logger(cfg), Backends: backends, UploadDir: cfg.uploadDir(),
		TrashAge: cfg.TrashDays.duration()})
	if err == nil && missing {
		if err := a.seed(ctx, db, cfg, cfg.EnableAuth); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, err
}

// printImport prints the numbers of found, imported and omitted records.
func (a *app) printImport(r *transfer.Result, dry, asJSON bool) error {
	if asJSON {
		return a.printLine(r)
	}
	w := a.stdout
	imported := "Imported"
	if dry {
		imported = "Would import"
	}
	fmt.Fprintf(w, "Found %s: %s new, %s with something new, %s unchanged, %s left out.\n",
		things(r.Found, "run", "runs"), count(r.Created), count(r.Grown), count(r.Unchanged), count(r.LeftOut))
	fmt.Fprintf(w, "%s %s, %s, %s and %s (%s).\n", imported, things(r.Points, "point", "points"),
		things(r.Parameters, "parameter", "parameters"), things(r.Tags, "tag", "tags"),
		things(r.Artifacts, "artifact", "artifacts"), size(r.Bytes))
	if r.Models > 0 {
		fmt.Fprintf(w, "%s %s.\n", imported, things(r.Models, "logged model or version of a registered one", "logged models and versions of registered ones"))
	}
	if r.Dropped > 0 {
		fmt.Fprintf(w, "%s of restarted runs; --steps all keeps them.\n",
			things(r.Dropped, "point was replaced by later ones", "points were replaced by later ones"))
	}
	printLosses(w, r, "Left out or changed:")
	if r.Unread != nil {
		fmt.Fprintf(w, "Not read: %s of other kinds (%s).\n", things(r.Unread.Files, "file", "files"), r.Unread)
	}
	return nil
}
