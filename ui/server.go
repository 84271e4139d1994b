package ui

import (
	"net/http"
	"time"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"

	"tracker/store"
	"tracker/store/backup"
	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/ui/plain"
)

// serverView is the view of the page about the server.
type serverView struct {
	Path   string // path of the database file
	Size   string
	Log    string // size of the write-ahead log
	Backup *backupView
}

// backupView holds the state of the backups.
type backupView struct {
	Dir      string
	Interval string
	Keep     string
	Running  bool
	Wrong    string // error of the last attempt, "" if it succeeded
	WrongAt  moment
	Next     moment
	Files    []backupRow // backup files, newest first
}

type backupRow struct {
	Name string
	At   moment
	Size string
}

// server shows admins the state of the database and its backups.
func (s *site) server(w http.ResponseWriter, r *http.Request, user domain.User) error {
	return s.show(w, r, user, http.StatusOK, func(db *store.View) (templ.Component, error) {
		storage, err := db.Storage()
		if err != nil {
			return nil, err
		}
		v := serverView{Path: storage.Path, Size: plain.Size(storage.Bytes), Log: plain.Size(storage.WAL)}
		if s.Backups != nil {
			v.Backup = s.newBackupView(s.Backups())
		}
		f, err := s.inside(db, "Server", user, place{})
		if err != nil {
			return nil, err
		}
		f.Crumbs = []crumb{{"Projects", "/"}, {Name: "Server"}}
		return serverPage(f, v), nil
	})
}

func (s *site) newBackupView(st backup.Status) *backupView {
	at := func(t time.Time) moment { return s.moment(scalar.Time(t.UnixMilli())) }
	v := &backupView{Dir: st.Dir, Interval: plain.Duration(scalar.Value(st.Interval.Seconds())), Keep: humanize.Comma(int64(st.Keep)), Running: st.Running, Next: at(st.Next)}
	if st.Err != nil {
		v.Wrong, v.WrongAt = st.Err.Error(), at(st.ErrTime)
	}
	for _, f := range st.Files {
		v.Files = append(v.Files, backupRow{f.Name, at(f.Time), plain.Size(f.Size)})
	}
	return v
}
