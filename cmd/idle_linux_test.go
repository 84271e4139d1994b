package cmd

import (
	"testing"
	"time"
)

// A new server uses little memory. The limit is far above the normal value, which the test logs, so
// that it holds on any machine.
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
