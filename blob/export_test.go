package blob

// SetPartSize makes the store send and copy at most size bytes in one request,
// which may be fewer than S3 allows.
func (s *S3) SetPartSize(size int) { s.partSize, s.copySize = size, int64(size) }

// Available is available, for the tests.
var Available = available
