package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tracker/client/rest"
	"tracker/store"
	"tracker/store/archive"
	"tracker/store/domain"
	"tracker/store/record"
	"tracker/store/transfer"
)

// Maximum numbers of runs and records in one archive. They are small, so that little has to be sent
// again after a failure.
const (
	sentRuns    = 20
	sentRecords = 200
)

// syncResult is the result of a push or pull.
type syncResult struct {
	Project   string          `json:"project"` // project id
	Peer      string          `json:"peer"`    // address of the server
	Same      int             `json:"same"`    // number of records that were equal on both sides
	Sent      int             `json:"sent"`    // number of copied records
	Runs      int             `json:"runs"`    // number of runs among the copied records
	Newer     int             `json:"newer"`   // number of records changed only on the target side
	Points    int             `json:"points"`
	Artifacts int             `json:"artifacts"`
	Bytes     int64           `json:"bytes"` // size of the copied artifacts
	Losses    []transfer.Loss `json:"losses"`
}

// syncing is the state of a push or pull.
type syncing struct {
	db      *store.DB
	client  *rest.Client
	project string // project id
	dry     bool
	result  *syncResult
	bar     func(done, all int)
	// order lists the records of the source. same contains the records that are equal on both
	// sides.
	order []string
	same  map[string]bool
	// answers is the sum of the server's import results.
	answers rest.Imported
	// from holds the records of the source and to the records of the target, including records
	// copied during this push or pull. In from, the state of a record is missing if the source is
	// local, the target lacks the record, and it has not been sent yet.
	from, to map[string]archive.RecordState
	// deliver copies records and returns the conflicting records, which were not copied.
	deliver func(ctx context.Context, records []string, base map[string]string) (conflicts []string, err error)
}

func (a *app) pushCommand() *cobra.Command {
	return a.syncCommand("push", "to", "Copy a project to another server",
		`Copy a project of the database to the server at --to: records that the server does not have,
and records that were changed here since the last copy. The command uses the token of
`+"`tracker login`"+` or TRACKER_TOKEN; a new project belongs to that user.`, func(ctx context.Context, s *syncing, name string) (err error) {
			s.project, err = s.db.Projects.ProjectNamed(ctx, domain.System, name)
			s.deliver = s.push
			return err
		})
}

func (a *app) pullCommand() *cobra.Command {
	return a.syncCommand("pull", "from", "Copy a project from another server",
		`Copy a project of the server at --from to the database: records that the database does not
have, and records that were changed there since the last copy.`, func(ctx context.Context, s *syncing, name string) error {
			s.project = name
			if !isID(name) {
				p, err := s.client.Project(ctx, name)
				if err != nil {
					return err
				}
				s.project = p.ID
			}
			s.deliver = s.pull
			return nil
		})
}

// isID reports whether s has the form of a record id.
func isID(s string) bool {
	return len(s) == 36 && strings.Count(s, "-") == 4 && !strings.Contains(s, " ")
}

func (a *app) syncCommand(verb, flag, short, long string, prepare func(ctx context.Context, s *syncing, name string) error) *cobra.Command {
	p := api{app: a}
	var dry, asJSON bool
	cmd := &cobra.Command{
		Use:     verb + " PROJECT --" + flag + " URL",
		GroupID: groupDatabase,
		Short:   short,
		Long: long + `

Ids stay the same, so nothing is duplicated, and the next time the same command copies only
changes. It can be stopped at any time and continues when it is run again. A record that was
changed on both sides, or deleted on one side, is listed but not copied, and the exit code is
then 3.`,
		Example: fmt.Sprintf("  tracker %s iris --%s https://lab:9000", verb, flag),
		Args:    one("PROJECT"),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if p.url == "" {
				return misuse("name the server with --" + flag + " URL")
			}
			cfg, err := a.load(cmd)
			if err != nil {
				return err
			}
			c, err := p.client()
			if err != nil {
				return err
			}
			db, err := a.openOrCreate(cmd.Context(), cfg, cfg.backends(), false)
			if err != nil {
				return err
			}
			s := &syncing{db: db, client: c, dry: dry, result: &syncResult{Peer: c.URL(), Losses: []transfer.Loss{}}}
			err = prepare(cmd.Context(), s, args[0])
			if err == nil {
				err = a.runSync(cmd.Context(), s, verb, asJSON)
			}
			return errors.Join(err, db.Close())
		}),
	}
	addSettings(cmd, append([]string{"SERVICE_DB_FILE"}, artifactSettings...)...)
	cmd.Flags().StringVar(&p.url, flag, "", "`address` of the API of the other server")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show how much would be copied without changing anything")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary as JSON")
	return cmd
}

func (a *app) runSync(ctx context.Context, s *syncing, verb string, asJSON bool) error {
	s.bar = a.recordProgress(strings.ToUpper(verb[:1]) + verb[1:] + "ing records")
	err := s.run(ctx, verb)
	r := s.result
	if asJSON {
		err = errors.Join(err, a.printLine(r))
	} else {
		copied := "Copied"
		if s.dry {
			copied = "Would copy"
		}
		fmt.Fprintf(a.stdout, "%s %s with %s, %s and %s (%s); %s the same.\n", copied, things(r.Sent, "record", "records"),
			things(r.Runs, "run", "runs"), things(r.Points, "point", "points"), things(r.Artifacts, "artifact", "artifacts"), size(r.Bytes),
			things(r.Same, "record is", "records are"))
		if r.Newer > 0 {
			other := "pull"
			if verb == "pull" {
				other = "push"
			}
			fmt.Fprintf(a.stdout, "%s changed only on the other side; `tracker %s` copies them.\n", things(r.Newer, "record was", "records were"), other)
		}
		printLosses(a.stdout, &transfer.Result{Losses: r.Losses, Lost: len(r.Losses)}, "Not copied:")
	}
	if err != nil {
		return fmt.Errorf("%w; the copied records are kept. Run the same command again to continue", err)
	}
	if len(r.Losses) > 0 {
		return incomplete{fmt.Errorf("%s not copied", wasWere(len(r.Losses)))}
	}
	return nil
}

// recordProgress returns a function that prints the number of finished records every
// progressPause.
func (a *app) recordProgress(title string) func(done, all int) {
	last := time.Now()
	return func(done, all int) {
		if time.Since(last) >= progressPause {
			last = time.Now()
			fmt.Fprintf(a.stderr, "%s: %s of %s\n", title, count(done), count(all))
		}
	}
}

// archive calls fn with a new temporary file and removes the file afterwards.
func (s *syncing) archive(fn func(f *os.File) error) error {
	f, err := s.db.Archive.ScratchFile()
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	return errors.Join(fn(f), f.Close())
}

// push sends the given records to the server and returns the conflicts.
func (s *syncing) push(ctx context.Context, records []string, base map[string]string) (conflicts []string, err error) {
	known := map[string]string{} // not nil: with a nil base, the server would use its own stored fingerprints
	for _, record := range records {
		if state := base[record]; state != "" {
			known[record] = state
		}
	}
	return s.send(ctx, records, known)
}

// send sends an archive with the given records. base maps a record to the fingerprint that it had
// when both sides were last equal. If base is nil, the server uses the fingerprints that it has
// stored.
func (s *syncing) send(ctx context.Context, records []string, base map[string]string) (conflicts []string, err error) {
	err = s.archive(func(f *os.File) error {
		q := archive.Query{ProjectID: s.project, Records: records}
		for _, record := range records {
			q.Context = append(q.Context, s.to[record].Targets()...)
		}
		o := archive.Options{Base: base, State: func(name string, state record.State) {
			s.from[name] = archive.RecordState{Record: name, State: state}
		}}
		if err := s.db.Archive.Export(ctx, domain.System, q, o, f); err != nil {
			return err
		}
		size, err := f.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}
		r, err := s.client.Import(ctx, f, size)
		if err != nil {
			return err
		}
		conflicts = r.Conflicts
		s.answers.Add(r)
		s.count(r.Points, r.Artifacts, r.Bytes)
		for _, l := range r.Losses {
			s.result.Losses = append(s.result.Losses, transfer.Loss{Path: l.Path, Reason: l.Reason})
		}
		return nil
	})
	return conflicts, err
}

// pull fetches the given records from the server and returns the conflicts.
func (s *syncing) pull(ctx context.Context, records []string, base map[string]string) (conflicts []string, err error) {
	err = s.archive(func(f *os.File) error {
		if err := s.client.Archive(ctx, s.project, records, f); err != nil {
			return err
		}
		r, err := s.db.Archive.Import(ctx, domain.System, f.Name(), archive.ImportOptions{Base: base, Peer: func(record string) bool {
			_, there := s.from[record]
			return there
		}})
		if err != nil {
			return err
		}
		conflicts = r.Conflicts
		s.count(r.Points, r.Artifacts, r.Bytes)
		s.result.Losses = append(s.result.Losses, r.Losses...)
		return nil
	})
	return conflicts, err
}

func (s *syncing) count(points, artifacts int, bytes int64) {
	s.result.Points += points
	s.result.Artifacts += artifacts
	s.result.Bytes += bytes
}
