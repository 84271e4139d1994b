//go:build !linux

package bench

// Only Linux has /proc. On other systems these methods return 0, which means unknown.

func (s *server) memory() int64         { return 0 }
func (s *server) peakMemory() int64     { return 0 }
func (s *server) writtenNow() written   { return written{} }
func (s *server) finalWritten() written { return written{} }
