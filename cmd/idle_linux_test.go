package cmd

import (
	"testing"
	"time"
)

// A server that has just been started uses little. What it is goes to the
// output of the test; the bound is far above it, for any machine.
func TestIdle(t *testing.T) {
	dir := t.TempDir()
	runBinary(t, dir, nil, "", "seed").must(t)
	start := time.Now()
	p := startServer(t, dir, nil)
	t.Logf("start: %v", time.Since(start).Round(time.Millisecond))
	p.call("GET", "/health", "", "")
	resident := memoryMB(t, p.PID, "VmRSS:")
	t.Logf("memory: %.1f MB", resident)
	if resident <= 0 || resident > 80 {
		t.Errorf("%.1f MB of memory without any work", resident)
	}
	p.stop()
}
