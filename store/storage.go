package store

// Storage reports where the database is and how large it is.
type Storage struct {
	Path  string
	Bytes int64 // of the file
	WAL   int64 // bytes of the write-ahead log
}

// Storage returns where the database is and how large it is. For admins.
func (v *View) Storage() (s Storage, err error) {
	if err := v.tx.admin(v.actor); err != nil {
		return s, err
	}
	s.Path = v.tx.db.kernel.Path()
	s.Bytes, s.WAL, err = v.tx.db.kernel.Size()
	return s, err
}
