//go:build !unix

package mlflow_test

import "time"

// processorTime returns the processor time of this process so far. ok is false if the time is
// unknown.
func processorTime() (t time.Duration, ok bool) { return 0, false }
