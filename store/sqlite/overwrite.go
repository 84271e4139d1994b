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

// SQLite documents its file formats in https://sqlite.org/walformat.html and fileformat2.html.
const (
	indexSize    = 120 // bytes to read from the log index: two copies of the header, and the checkpoint information
	indexVersion = 3007000
	attemptedAt  = 128 // offset in the log index of the number of frames that a checkpoint has attempted to copy
	logHead      = 32
	frameHead    = 24
)

// contents identifies the state of an open database on disk. SQLite keeps pages in memory, so
// SQLite does not notice when another program overwrites the file or the log.
//
// With a write-ahead log, only a checkpoint changes the file, and the checkpoint copies page 1
// from the log. Page 1 of the file is therefore either unchanged or equal to a page in the log.
// The log index has the checksum of the last frame in the log.
type contents struct {
	page1 []byte
	salts [8]byte // salts of the log; each restart of the log changes the salts
}

// logIndex holds fields of the log index, the file with suffix -shm.
type logIndex struct {
	frames   uint32
	pages    uint32 // number of database pages; 0 if unknown
	pageSize int64
	checksum [8]byte // checksum of the log's last frame
	salts    [8]byte
	copied   uint32 // number of frames that a checkpoint has already copied into the file
}

const (
	compareAttempts = 20
	comparePause    = 10 * time.Millisecond
)

// checkContents returns ErrOverwritten if a program has changed the file or its log without
// SQLite. It must be called in a write transaction, so that no other transaction changes the
// log. A checkpoint can run at the same time.
//
// stillOurs must check in the same transaction that the owner table names this process.
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

// compare checks whether SQLite can have changed the contents from last to the current contents.
// If not, it returns a description of the problem. Otherwise, it records the current contents.
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
	// After a complete checkpoint, page 1 has the current number of pages.
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

// checkLog compares the log with its index and returns a description of the problem, or "". It
// ignores a log without frames, because the next commit restarts such a log.
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

// checkPage1 checks whether SQLite can have changed page 1 from last.page1 to page. If not, it
// returns a description of the problem, otherwise "".
func (o *opened) checkPage1(page []byte, last *contents, index logIndex, stillOurs func() error) (problem string, err error) {
	if logged, err := o.logged(page, index); logged || err != nil {
		return "", err
	}
	if index.salts == last.salts || !sameFile(page, last.page1) {
		return fileChanged, nil
	}
	// Another process has committed, copied the log and restarted it. The tables now come from
	// the file, and the owner table must still name this process.
	if err := stillOurs(); IsDamaged(err) {
		return fileChanged, nil
	} else if err != nil {
		return "", err
	}
	return "", nil
}

// sameFile reports whether page can be a later version of the page 1 in last. Format and page
// size must be equal, and the change counter must not be lower.
func sameFile(page, last []byte) bool {
	return bytes.Equal(page[:24], last[:24]) && binary.BigEndian.Uint32(page[24:]) >= binary.BigEndian.Uint32(last[24:])
}

// logged reports whether the current or the previous checkpoint has copied page from the log.
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

// checkSize checks that all pages counted in page 1 are in the file or the log. It returns
// ErrOverwritten if pages are missing.
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

// changed reports whether the contents of the file differ from the last recorded contents. A
// checkpoint is also a difference.
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

// rememberContents records the current contents. It reports whether the files have the format
// that SQLite documents.
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

// at returns the offset of a frame in the log. Frames are numbered from 1.
func (x logIndex) at(frame uint32) int64 {
	return logHead + int64(frame-1)*(frameHead+x.pageSize)
}

// readIndex reads the log index. ok is false if the file does not have SQLite's format.
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
	for i := range 2 { // the log stores checksums in big-endian order
		binary.BigEndian.PutUint32(x.checksum[4*i:], native.Uint32(b[24+4*i:]))
	}
	copy(x.salts[:], b[32:40])
	x.copied = native.Uint32(b[96:])
	return x, true, nil
}

// readPage1 reads the first page of a file into page. It returns fewer bytes if the file is
// shorter.
func readPage1(f *os.File, page []byte) ([]byte, error) {
	n, err := f.ReadAt(page, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return page[:n], err
}

// overwrittenNote is the note in the lock file after the database was overwritten. If the lock
// file has this note, the log does not belong to the database file.
const overwrittenNote = "overwritten"

// refuseOverwritten returns a *FileError if note is overwrittenNote and the log still exists.
// SQLite would apply this log to the file, although the log belongs to the file's former
// contents.
func refuseOverwritten(path, note string) error {
	if note != overwrittenNote {
		return nil
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		return nil
	}
	return fileError(Overwritten, nil,
		"the database %s was overwritten or truncated while a server was running, and %s-wal belongs to its previous contents: restore a backup, or remove %s-wal and %s-shm to use the overwritten file",
		path, path, path, path)
}
