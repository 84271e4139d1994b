//go:build !linux

package bench

// These methods return 0, which means unknown, because only Linux has /proc.

func (s *server) memory() int64         { return 0 }
func (s *server) peakMemory() int64     { return 0 }
func (s *server) writtenNow() written   { return written{} }
func (s *server) finalWritten() written { return written{} }
