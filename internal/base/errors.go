package base

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of error that cross package boundaries. Wrap them with the location:
// fmt.Errorf("segment %s: term %q: %w", name, term, base.ErrCorrupt).
var (
	// ErrCorrupt means that stored bytes are damaged. The index must be restored or
	// rebuilt.
	ErrCorrupt = errors.New("corrupt data")
	// ErrNotIndex means that a path is not a Griffin index.
	ErrNotIndex = errors.New("not a Griffin index")
	// ErrRemoved means that another program removed, moved or replaced the folder of an index, or the lock file in it, while it
	// was open for writing. It wraps ErrNotIndex.
	ErrRemoved error = removedError{}
	// ErrExists means that a new index was requested at the path of an existing one.
	ErrExists = errors.New("index already exists")
	// ErrLocked means that another process or writer holds the index's write lock.
	ErrLocked = errors.New("index is locked by another writer")
	// ErrVersion means that a newer Griffin wrote the file.
	ErrVersion = errors.New("unsupported format version")
	// ErrBadInput means that the caller's input (a query, an option, a record) is invalid;
	// the message has the location and the reason.
	ErrBadInput = errors.New("bad input")
	// ErrTooManyFields means that an index would have more than MaxFields. It wraps ErrBadInput.
	ErrTooManyFields = fmt.Errorf("limit of total fields [%d] has been exceeded: %w", MaxFields-1, ErrBadInput)
	// ErrClosed means that the index, segment or file was closed.
	ErrClosed = errors.New("closed")
)

type removedError struct{}

func (removedError) Error() string {
	return "another program removed, moved or replaced the folder, or its lock file LOCK, while it was open for writing"
}

func (removedError) Unwrap() error { return ErrNotIndex }

// Message returns the text of err for a user: without "bad input", the text of ErrBadInput, which
// only repeats that there is an error. Callers test err itself with errors.Is.
func Message(err error) string {
	kind := ErrBadInput.Error()
	if !errors.Is(err, ErrBadInput) || err.Error() == kind {
		return err.Error()
	}
	lines := strings.Split(err.Error(), "\n") // errors.Join writes one error a line
	for i, line := range lines {
		line = strings.TrimPrefix(line, kind+": ")
		for strings.HasSuffix(line, ": "+kind) { // errors can wrap several, and texts of errors
			line = strings.TrimSuffix(line, ": "+kind)
		}
		for strings.Contains(line, ": "+kind+": ") {
			line = strings.ReplaceAll(line, ": "+kind+": ", ": ")
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}
