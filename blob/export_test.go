package blob

// SetPartSize sets the maximum number of bytes that the store sends or copies in one request. size
// can be smaller than S3 allows.
func (s *S3) SetPartSize(size int) { s.partSize, s.copySize = size, int64(size) }

// Available exports the function available for the tests.
var Available = available
