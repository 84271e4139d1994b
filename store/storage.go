package store

// Storage describes the location and the size of the database.
type Storage struct {
	Path  string
	Bytes int64 // size of the database file in bytes
	WAL   int64 // size of the write-ahead log in bytes
}

// Storage returns the location and the size of the database. The actor must be an admin.
func (v *View) Storage() (s Storage, err error) {
	if err := v.tx.Admin(v.tx.Actor); err != nil {
		return s, err
	}
	s.Path = v.tx.DB.Kernel.Path()
	s.Bytes, s.WAL, err = v.tx.DB.Kernel.Size()
	return s, err
}
