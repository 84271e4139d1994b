package cmd

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tracker/store/archive"
	"tracker/store/domain"
	"tracker/store/record"
)

// run compares the source with the target and copies new and changed records to the target.
func (s *syncing) run(ctx context.Context, verb string) error {
	s.result.Project = s.project
	there, remote, err := s.remote(ctx)
	if err != nil {
		return err
	}
	here, local, err := s.local(ctx, remote)
	if err != nil {
		return err
	}
	s.order, s.from, s.to = here, local, remote
	if verb == "pull" {
		s.order, s.from, s.to = there, remote, local
	}
	if len(s.order) == 0 {
		return errors.New("there is no such project")
	}
	base, err := s.db.Archive.Synced(ctx, s.client.URL(), s.order)
	if err != nil {
		return err
	}
	wanted, notes := s.compare(base)
	s.result.Same = len(s.same)
	if s.dry {
		s.result.Sent, s.result.Runs = len(wanted), runsAmong(wanted)
		return nil
	}
	if err := s.db.Archive.SetSynced(ctx, s.client.URL(), notes); err != nil {
		return err
	}
	all := len(wanted)
	var late []string
	for len(wanted) > 0 {
		n := chunk(wanted)
		copied, err := s.copy(ctx, wanted[:n], base)
		if err != nil {
			return err
		}
		for _, record := range copied {
			if s.lacks(record) {
				late = append(late, record)
			}
		}
		s.result.Sent += len(copied)
		s.result.Runs += runsAmong(copied)
		wanted = wanted[n:]
		s.bar(all-len(wanted), all)
	}
	for len(late) > 0 { // the target now has the records that the late ones refer to
		n := chunk(late)
		if _, err := s.copy(ctx, late[:n], base); err != nil {
			return err
		}
		late = late[n:]
	}
	return nil
}

// compare returns the records to copy, and the fingerprints to store for records that are equal on
// both sides.
func (s *syncing) compare(base map[string]string) (wanted []string, notes map[string]string) {
	s.same, notes = map[string]bool{}, map[string]string{}
	shared := func(record string) bool {
		if isArtifact(record) {
			return true
		}
		_, inFrom := s.from[record]
		_, inTo := s.to[record]
		return inFrom && (inTo || base[record] == "") // a record that only the source has will be copied
	}
	for _, name := range s.order {
		from := s.from[name]
		to, exists := s.to[name]
		if !exists {
			wanted = append(wanted, name)
			continue
		}
		changed, newer := record.Changes(from.State, to.State, base[name], shared)
		switch {
		case changed:
			wanted = append(wanted, name)
		case newer:
			s.result.Newer++
		default:
			s.same[name] = true
			if note := s.noted(from); note != base[name] {
				notes[name] = note
			}
		}
	}
	return wanted, notes
}

// isArtifact reports whether a referenced record is an artifact. Artifacts belong to their runs
// and are not compared separately.
func isArtifact(record string) bool { return strings.HasPrefix(record, "resource/") }

// noted returns the fingerprint to store for a source record that is equal on both sides.
func (s *syncing) noted(r archive.RecordState) string {
	if r.Content == "" {
		return r.Fingerprint
	}
	return r.Noted(func(record string) bool {
		_, there := s.to[record]
		return there || isArtifact(record)
	})
}

// lacks reports whether record refers to a record that exists in the source but not in the
// target.
func (s *syncing) lacks(record string) bool {
	return slices.ContainsFunc(s.from[record].Targets(), func(record string) bool {
		_, inFrom := s.from[record]
		_, inTo := s.to[record]
		return inFrom && !inTo
	})
}

// local returns the project's records in the local database. It returns none if the database does
// not have the project. It computes the states only of records that the server also has, because
// computing a state reads all points of a run.
func (s *syncing) local(ctx context.Context, remote map[string]archive.RecordState) (order []string, states map[string]archive.RecordState, err error) {
	order, states, err = s.db.Archive.AllRecords(ctx, domain.System, s.project, func(name string) bool {
		_, there := remote[name]
		return there
	})
	if err != nil && domain.AsError(err).Code == domain.CodeNotFound {
		return nil, map[string]archive.RecordState{}, nil
	}
	return order, states, err
}

// remote returns the project's records on the server. It returns none if the server does not
// have the project.
func (s *syncing) remote(ctx context.Context) (order []string, states map[string]archive.RecordState, err error) {
	all, err := s.client.Records(ctx, s.project)
	states = make(map[string]archive.RecordState, len(all))
	for _, r := range all {
		order = append(order, r.Record)
		states[r.Record] = archive.RecordState{Record: r.Record,
			State: record.State{Fingerprint: r.Fingerprint, Content: r.Content, References: r.References}}
	}
	return order, states, err
}

// chunk returns the number of leading records that fit into one archive. It does not separate
// the versions of models, because stages and aliases move between versions.
func chunk(records []string) int {
	runs := 0
	for i, record := range records {
		if strings.HasPrefix(record, "iteration/") {
			runs++
		}
		if runs > sentRuns || i >= sentRecords && !(isVersion(record) && isVersion(records[i-1])) {
			return i
		}
	}
	return len(records)
}

func isVersion(record string) bool { return strings.HasPrefix(record, "model_version/") }

func runsAmong(records []string) (n int) {
	for _, record := range records {
		if strings.HasPrefix(record, "iteration/") {
			n++
		}
	}
	return n
}

// copy copies records to the target and stores that both sides are now equal. Conflicting records
// are not copied. copy returns the copied records.
func (s *syncing) copy(ctx context.Context, records []string, base map[string]string) (copied []string, err error) {
	conflicts, err := s.deliver(ctx, records, base)
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		if !slices.Contains(conflicts, record) {
			copied = append(copied, record)
			s.to[record] = s.from[record]
		}
	}
	notes := map[string]string{}
	for _, record := range copied {
		notes[record] = s.noted(s.from[record])
		base[record] = notes[record]
	}
	return copied, s.db.Archive.SetSynced(ctx, s.client.URL(), notes)
}
