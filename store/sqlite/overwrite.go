package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// The formats of SQLite: https://sqlite.org/walformat.html and fileformat2.html.
const (
	indexSize    = 120 // bytes of the index of the log that are read: its header, twice, and the checkpoint information
	indexVersion = 3007000
	attemptedAt  = 128 // offset in the index; the bytes before it are locks
	logHead      = 32
	frameHead    = 24
)

// contents is the part of the state on disk that identifies an open database. A program
// that overwrites the file or the log does not use SQLite, and SQLite, which has the
// needed pages in memory, does not notice.
//
// With a write-ahead log, only a checkpoint changes the file. It copies page 1 from the log.
// So page 1 of the file is either the previous one or one from the log. The index of the
// log has the checksum of the last frame of the log.
type contents struct {
	page1 []byte
	salts [8]byte // salts of the log; they change when the log is restarted
}

// logIndex holds fields of the index of the log (-shm).
type logIndex struct {
	frames   uint32
	pages    uint32 // number of pages of the database; 0 if unknown
	pageSize int64
	checksum [8]byte // checksum of the last frame in the log
	salts    [8]byte
	copied   uint32 // number of frames that a checkpoint has copied into the file
}

const (
	compareAttempts = 20
	comparePause    = 10 * time.Millisecond
)

// checkContents returns ErrOverwritten if the contents of the file or its log are not from
// SQLite. It must be called in a write transaction, so that the log does not change; a
// checkpoint may run at the same time. stillOurs checks, in that transaction, that the
// tables belong to this process.
func (o *opened) checkContents(stillOurs func() error) error {
	last := o.last.Load()
	if last == nil {
		return nil
	}
	for attempt := 1; ; attempt++ {
		problem, err := o.compare(last, stillOurs)
		if problem == "" || err != nil {
			return err
		}
		if attempt == compareAttempts {
			return fmt.Errorf("%w: %s", ErrOverwritten, problem)
		}
		time.Sleep(comparePause)
	}
}

const fileChanged = "the file was changed by another program"

// compare returns a problem if the contents can't follow last. Otherwise it records the
// contents.
func (o *opened) compare(last *contents, stillOurs func() error) (problem string, err error) {
	index, ok, err := readIndex(o.shm)
	if err != nil {
		return "", err
	}
	if !ok {
		return "the index of the log was changed by another program", nil
	}
	if problem, err := o.checkLog(index); problem != "" || err != nil {
		return problem, err
	}
	page, err := readPage1(o.db, o.buffer)
	if err != nil {
		return "", err
	}
	if len(page) < len(last.page1) {
		return "the file was truncated", nil
	}
	// After a complete checkpoint, page 1 has the size of the database.
	if index.frames == 0 && index.pages > 0 && index.pages != binary.BigEndian.Uint32(page[28:]) {
		return fileChanged, nil
	}
	now := *last
	if !bytes.Equal(page, last.page1) {
		if problem, err = o.checkPage1(page, last, index, stillOurs); problem != "" || err != nil {
			return problem, err
		}
		now.page1 = bytes.Clone(page)
	}
	now.salts = index.salts
	if err := o.checkSize(page, index.pageSize); err != nil {
		return "", err
	}
	if now.salts != last.salts || &now.page1[0] != &last.page1[0] {
		o.last.Store(&now)
	}
	return "", nil
}

// checkLog compares the log with its index. It ignores the contents of a log without frames,
// because the next commit restarts the log.
func (o *opened) checkLog(index logIndex) (problem string, err error) {
	if index.frames == 0 {
		return "", nil
	}
	var head [logHead]byte
	var frame [frameHead]byte
	_, err = o.wal.ReadAt(head[:], 0)
	if err == nil {
		_, err = o.wal.ReadAt(frame[:], index.at(index.frames))
	}
	switch {
	case errors.Is(err, io.EOF):
		return "the log was truncated", nil
	case err != nil:
		return "", err
	case !bytes.Equal(head[16:24], index.salts[:]), !bytes.Equal(frame[8:16], index.salts[:]), !bytes.Equal(frame[16:], index.checksum[:]):
		return "the log was changed by another program", nil
	}
	return "", nil
}

// checkPage1 checks that page can follow the last page 1.
func (o *opened) checkPage1(page []byte, last *contents, index logIndex, stillOurs func() error) (problem string, err error) {
	if logged, err := o.logged(page, index); logged || err != nil {
		return "", err
	}
	if index.salts == last.salts || !sameFile(page, last.page1) {
		return fileChanged, nil
	}
	// Another process has committed, copied the log and restarted it. The tables, which are
	// now read from the file, must have the name of this process.
	if err := stillOurs(); IsDamaged(err) {
		return fileChanged, nil
	} else if err != nil {
		return "", err
	}
	return "", nil
}

// sameFile reports whether page can be a later page 1 of the same database than last: the
// format and the page size are equal, and the change counter is not lower.
func sameFile(page, last []byte) bool {
	return bytes.Equal(page[:24], last[:24]) && binary.BigEndian.Uint32(page[24:]) >= binary.BigEndian.Uint32(last[24:])
}

// logged reports whether the current checkpoint, or the previous one, has copied page
// from the log.
func (o *opened) logged(page []byte, index logIndex) (bool, error) {
	var attempted [4]byte
	if _, err := o.shm.ReadAt(attempted[:], attemptedAt); err != nil {
		return false, err
	}
	frame := min(index.frames, max(index.copied, binary.NativeEndian.Uint32(attempted[:])))
	var number [4]byte
	there := make([]byte, len(page))
	for ; frame > 0; frame-- {
		if _, err := o.wal.ReadAt(number[:], index.at(frame)); err != nil {
			return false, err
		}
		if binary.BigEndian.Uint32(number[:]) != 1 {
			continue
		}
		if _, err := o.wal.ReadAt(there, index.at(frame)+frameHead); err != nil {
			return false, err
		}
		if bytes.Equal(there, page) {
			return true, nil
		}
		if frame <= index.copied {
			break
		}
	}
	return false, nil
}

// checkSize checks that all pages that page 1 counts are in the file or in the log.
func (o *opened) checkSize(page []byte, pageSize int64) error {
	info, err := o.db.Stat()
	if err != nil || info.Size() >= int64(binary.BigEndian.Uint32(page[28:]))*pageSize {
		return err
	}
	var cut *FileError
	if err := checkPages(o.db, o.db.Name()); errors.As(err, &cut) {
		return fmt.Errorf("%w: %w", ErrOverwritten, cut)
	} else if err != nil {
		return err
	}
	return nil
}

// changed reports whether the contents of the file may differ from the last transaction. A
// checkpoint changes them too.
func (o *opened) changed() bool {
	last := o.last.Load()
	if last == nil {
		return false
	}
	page, err := readPage1(o.db, make([]byte, len(last.page1)))
	if err != nil || !bytes.Equal(page, last.page1) {
		return true
	}
	info, err := o.db.Stat()
	return err != nil || info.Size() < int64(binary.BigEndian.Uint32(page[28:]))*int64(len(page))
}

// rememberContents records the contents. It reports whether their format is as documented
// by SQLite.
func (o *opened) rememberContents() (bool, error) {
	index, ok, err := readIndex(o.shm)
	if err != nil || !ok || index.pageSize < 512 {
		return false, err
	}
	page, err := readPage1(o.db, make([]byte, index.pageSize))
	if err != nil || len(page) < int(index.pageSize) {
		return false, err
	}
	o.buffer = make([]byte, len(page))
	o.last.Store(&contents{page, index.salts})
	return true, nil
}

// at returns the offset of a frame in the log. The first frame has number 1.
func (x logIndex) at(frame uint32) int64 {
	return logHead + int64(frame-1)*(frameHead+x.pageSize)
}

// readIndex reads the index of the log; ok is false if its format is not SQLite's.
func readIndex(shm *os.File) (x logIndex, ok bool, err error) {
	var b [indexSize]byte
	if _, err := shm.ReadAt(b[:], 0); errors.Is(err, io.EOF) {
		return x, false, nil
	} else if err != nil {
		return x, false, err
	}
	native := binary.NativeEndian
	if native.Uint32(b[0:]) != indexVersion || b[12] != 1 || !bytes.Equal(b[:48], b[48:96]) {
		return x, false, nil
	}
	x.pageSize = int64(native.Uint16(b[14:]))
	if x.pageSize == 1 {
		x.pageSize = 65536
	}
	x.frames = native.Uint32(b[16:])
	x.pages = native.Uint32(b[20:])
	for i := range 2 { // the log has them in big-endian order
		binary.BigEndian.PutUint32(x.checksum[4*i:], native.Uint32(b[24+4*i:]))
	}
	copy(x.salts[:], b[32:40])
	x.copied = native.Uint32(b[96:])
	return x, true, nil
}

// readPage1 reads page 1 of a file into page. It returns fewer bytes at the end of the file.
func readPage1(f *os.File, page []byte) ([]byte, error) {
	n, err := f.ReadAt(page, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return page[:n], err
}

// overwrittenNote is the note in the lock file that the log does not belong to the file.
const overwrittenNote = "overwritten"

// refuseOverwritten returns a *FileError if a server has found the file at path overwritten
// and its log still exists: SQLite would apply the log to the file.
func refuseOverwritten(path, note string) error {
	if note != overwrittenNote {
		return nil
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		return nil
	}
	return fileError(Overwritten, nil,
		"the database %s was overwritten or truncated while a server was running, and %s-wal belongs to its previous contents: restore a backup; or, to use the file as it is, remove %s-wal and %s-shm",
		path, path, path, path)
}
