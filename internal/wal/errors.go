package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/griffin-search/griffin/internal/base"
)

var (
	// ErrFull means that the disk or a quota has no room for the records. They are not in the
	// log, and a later Append succeeds when there is room. But if the log is closed before that, the next Open can find
	// some of the Appends that failed together.
	ErrFull = errors.New("no room for the write-ahead log")
	// ErrReadOnly means that the file system is read-only. The records are not in the
	// log. A later Append succeeds when it takes writes.
	ErrReadOnly = errors.New("the write-ahead log is read-only")
	// ErrDenied means that the process may not write to the files of the log or their folder. The records are not in
	// the log. A later Append succeeds when it may.
	ErrDenied = errors.New("no permission to write the write-ahead log")
	// ErrFailed means that a write or sync failed and that the log accepts no more records.
	// Records without acknowledgement may be in the log or not. Close the log and open it again.
	ErrFailed = errors.New("the write-ahead log stopped after a failed write: open it again")
	// ErrTruncated means that Replay was asked for records that TruncateFront removed.
	ErrTruncated = errors.New("records were removed from the write-ahead log")
)

// resource adds the sentinel of a lack of room or permission, after which a retry may succeed.
func resource(err error) (retry bool, _ error) {
	switch {
	case errors.Is(err, ErrFailed):
		return false, err
	case errors.Is(err, ErrFull), errors.Is(err, ErrReadOnly), errors.Is(err, ErrDenied):
		return true, err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return true, fmt.Errorf("%w: %w", ErrFull, err)
	case errors.Is(err, syscall.EROFS):
		return true, fmt.Errorf("%w: %w", ErrReadOnly, err)
	case errors.Is(err, fs.ErrPermission):
		return true, fmt.Errorf("%w: %w", ErrDenied, err)
	}
	return false, err
}

// damage is unreadable content of a file; it wraps base.ErrCorrupt.
type damage struct {
	file   string
	offset int64
	why    string
}

func (d *damage) Error() string {
	return fmt.Sprintf("%s: byte %d: %s: %v", d.file, d.offset, d.why, base.ErrCorrupt)
}

func (d *damage) Unwrap() error { return base.ErrCorrupt }
