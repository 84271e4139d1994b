//go:build !linux

package cmd

// What a process has used is asked for in the way of Linux only; 0 stands for
// what is not known.

func (s *benchServer) memory() int64             { return 0 }
func (s *benchServer) peakMemory() int64         { return 0 }
func (s *benchServer) writtenNow() benchWritten  { return benchWritten{} }
func (s *benchServer) lastAccount() benchWritten { return benchWritten{} }
