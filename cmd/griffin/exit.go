package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/trec"
)

// Exit codes. docs/guides/exit-codes.md explains them to users.
const (
	exitOK          = 0
	exitFailure     = 1   // anything that is not listed below
	exitUsage       = 2   // wrong flags or arguments
	exitIndex       = 3   // no index there, or it is damaged or locked
	exitInput       = 4   // bad query, bad records over --max-errors
	exitInterrupted = 130 // Ctrl-C or SIGTERM
)

type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// badFlags is for calls whose only input are flags and arguments.
func badFlags(err error) error {
	if errors.Is(err, base.ErrBadInput) {
		return usageError{err}
	}
	return err
}

func exitCode(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, base.ErrNotIndex), errors.Is(err, base.ErrCorrupt),
		errors.Is(err, base.ErrVersion), errors.Is(err, base.ErrExists), errors.Is(err, base.ErrLocked):
		return exitIndex
	case errors.Is(err, base.ErrBadInput), errors.Is(err, griffin.ErrNotFound), errors.Is(err, trec.ErrNoQueries):
		return exitInput
	}
	return exitFailure
}

type hintedError struct {
	error
	hint string
}

func (e hintedError) Unwrap() error { return e.error }

func hint(command string, err error) string {
	var usage usageError
	var hinted hintedError
	var answer *serverError
	switch {
	case errors.As(err, &hinted):
		return hinted.hint
	case errors.As(err, &usage):
		return "see: " + command + " --help"
	case errors.Is(err, base.ErrRemoved):
		return "put the folder back, or build the index anew; if only the lock file was removed, run the command again; end the programs that write to an index before you remove or move it"
	case errors.Is(err, base.ErrNotIndex) && errors.As(err, &answer):
		return addHint
	case errors.Is(err, base.ErrNotIndex):
		return "build one with: griffin index --out INDEX PATH…"
	case errors.Is(err, base.ErrExists) && command != "griffin index":
		return "build it anew with --replace"
	case errors.Is(err, base.ErrExists):
		return "add to it with --update, or build it anew with --replace"
	case errors.Is(err, base.ErrCorrupt):
		return "see what is damaged with: griffin verify INDEX; then rebuild it or restore a copy"
	case errors.Is(err, base.ErrLocked):
		return "wait until the other griffin that writes to this index has ended; if it is a server, use --server URL"
	case errors.Is(err, griffin.ErrNoImpacts):
		return "make them with: griffin impacts INDEX"
	case errors.Is(err, syscall.EADDRINUSE):
		return "something listens there already: name another address with --addr; port 0 takes any free one"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "start a server with: griffin serve DATA, a folder of indexes"
	case dispatch.IsGPUUnavailable(err):
		return "see what there is with: griffin devices"
	case errors.Is(err, base.ErrVersion):
		return "use the griffin that wrote the index, or a newer one"
	}
	return ""
}
