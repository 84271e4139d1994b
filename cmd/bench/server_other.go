//go:build !linux

package bench

// These numbers are read from /proc, which only Linux has. 0 means unknown.

func (s *server) memory() int64         { return 0 }
func (s *server) peakMemory() int64     { return 0 }
func (s *server) writtenNow() written   { return written{} }
func (s *server) finalWritten() written { return written{} }
