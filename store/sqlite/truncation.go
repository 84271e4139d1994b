package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// checkTruncation returns a *FileError if pages are missing. A page is missing if the header of
// the file counts it but neither the file nor the write-ahead log has it. SQLite itself notices
// a missing page only when it reads the page. SQLite reads a partly missing page as zeros.
//
// Another process might be running a checkpoint, which changes the header, the size and the log
// one after the other. A page therefore counts as missing only if it is missing in several
// attempts.
func checkTruncation(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(checkPages(f, path), f.Close())
}

// checkPages is checkTruncation for the open file f. path is the path of f.
func checkPages(f *os.File, path string) error {
	const attempts, pause = 5, 100 * time.Millisecond
	for attempt := 1; ; attempt++ {
		pages, have, size, err := pageCounts(f)
		if err != nil || have >= pages {
			return err
		}
		logged, err := loggedPages(path + "-wal")
		if err != nil {
			return err
		}
		missing := uint32(0)
		for p := have + 1; p <= pages; p++ {
			if !logged[p] {
				missing++
			}
		}
		if missing == 0 {
			return nil
		}
		if attempt == attempts {
			return fileError(Damaged, nil, "the database %s is truncated: %d of its %d pages are missing at %d bytes; restore a backup, or choose another file",
				path, missing, pages, size)
		}
		time.Sleep(pause)
	}
}

// pageCounts returns the number of pages in the header of the file, the number of whole pages
// in the file, and the file size in bytes. The results are zero for an empty file and for a
// file that is not a SQLite file.
func pageCounts(f *os.File) (pages, have uint32, size int64, err error) {
	var h [100]byte
	if _, err := f.ReadAt(h[:], 0); err == io.EOF {
		return 0, 0, 0, nil
	} else if err != nil {
		return 0, 0, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, 0, 0, err
	}
	pageSize := int64(binary.BigEndian.Uint16(h[16:]))
	if pageSize == 1 {
		pageSize = 65536
	}
	// The number of pages in the header is valid if the two change counters are equal.
	if !bytes.HasPrefix(h[:], []byte("SQLite format 3\x00")) || pageSize < 512 || !bytes.Equal(h[24:28], h[92:96]) {
		return 0, 0, 0, nil
	}
	return binary.BigEndian.Uint32(h[28:]), uint32(info.Size() / pageSize), info.Size(), nil
}

// loggedPages returns the numbers of the pages in a write-ahead log.
func loggedPages(path string) (map[uint32]bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var head [32]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return nil, nil // the log is empty
	}
	pageSize := int64(binary.BigEndian.Uint32(head[8:]))
	found := map[uint32]bool{}
	var frame [24]byte
	for at := int64(len(head)); pageSize >= 512; at += int64(len(frame)) + pageSize {
		// A frame whose salts differ from the header's salts was written before the log was
		// restarted.
		if _, err := f.ReadAt(frame[:], at); err != nil || !bytes.Equal(frame[8:16], head[16:24]) {
			break
		}
		found[binary.BigEndian.Uint32(frame[:])] = true
	}
	return found, nil
}
