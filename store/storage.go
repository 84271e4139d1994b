package store

// Storage holds the location and the size of the database.
type Storage struct {
	Path  string
	Bytes int64 // of the file
	WAL   int64 // bytes of the write-ahead log
}

// Storage returns the location and the size of the database. Only admins may call it.
func (v *View) Storage() (s Storage, err error) {
	if err := v.tx.Admin(v.tx.Actor); err != nil {
		return s, err
	}
	s.Path = v.tx.DB.Kernel.Path()
	s.Bytes, s.WAL, err = v.tx.DB.Kernel.Size()
	return s, err
}
