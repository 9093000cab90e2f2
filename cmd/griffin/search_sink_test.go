package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin"
)

type refusingSink struct{ err error }

func (s refusingSink) apply(context.Context, []griffin.Write) ([]griffin.WriteResult, error) {
	return nil, s.err
}

func (refusingSink) close(context.Context) error { return nil }

// A command waits for a full disk, or for one of a server, only for some seconds.
func TestApplyToFullDisk(t *testing.T) {
	for _, full := range []error{
		fmt.Errorf("%w: %w", griffin.ErrBusy, griffin.ErrFull),
		&serverError{Type: typeBlocked, status: 429},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := applyPatiently(t.Context(), refusingSink{full}, nil)
			if took := time.Since(began); !errors.Is(err, full) || took < maxFullWait || took > maxFullWait+2*time.Second {
				t.Errorf("after %v: %v, want %v", took, err, full)
			}
		})
	}
}

// The errors of a command do not promise that writes continue. They name the necessary action.
func TestErrorsOfDisk(t *testing.T) {
	for _, test := range []struct {
		err        error
		text, hint string
	}{
		{fmt.Errorf("%w: %w", griffin.ErrFull, syscall.ENOSPC), "disk is full", "free space"},
		{fmt.Errorf("%w: %w", griffin.ErrReadOnly, syscall.EROFS), "read-only", "make it writable"},
		{&fs.PathError{Op: "unlinkat", Path: "x/tmp", Err: syscall.EROFS}, "x: the file system is read-only", "make it writable"}, // of a merge
		{&fs.PathError{Op: "write", Path: "x/tmp/1", Err: syscall.ENOSPC}, "x: the disk is full", "free space"},
		{fmt.Errorf("%w: %w", griffin.ErrDenied, &fs.PathError{Op: "open", Path: "x/LOCK", Err: syscall.EACCES}), "x/LOCK: permission denied", "owner or mode"},
	} {
		err := ofDisk("x", test.err)
		if !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "by themselves") || !errors.Is(err, test.err) {
			t.Errorf("%v: %v", test.err, err)
		}
		if h := hint("griffin add", err); !strings.Contains(h, test.hint) || !strings.Contains(h, "again") {
			t.Errorf("%v: hint %q", test.err, h)
		}
	}
	other := errors.New("other")
	if got := ofDisk("x", other); !errors.Is(got, other) || got.Error() != "other" {
		t.Errorf("%v", got)
	}
}
