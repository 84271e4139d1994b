package store

// Storage reports where the database is and how large it is.
type Storage struct {
	Path  string
	Bytes int64 // of the file
	WAL   int64 // bytes of the write-ahead log
}

// Storage returns where the database is and how large it is. For admins.
func (v *View) Storage() (s Storage, err error) {
	if err := v.tx.Admin(v.tx.Actor); err != nil {
		return s, err
	}
	s.Path = v.tx.DB.Kernel.Path()
	s.Bytes, s.WAL, err = v.tx.DB.Kernel.Size()
	return s, err
}
