package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
)

// terminal is where a command reads and writes.
type terminal struct {
	in       io.Reader
	out, err io.Writer
}

// app is what all commands share: the terminal and the global flags.
type app struct {
	terminal
	json  bool
	quiet bool
	color string // auto, always, never

	outErr error // first failure of printf
}

// isTerminal reports whether v (a reader or writer) is a terminal.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colored reports whether output to w may hold ANSI colours.
func (a *app) colored(w io.Writer) bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// style is a set of ANSI sequences; the empty one writes plain text.
type style struct{ bold, dim, title, mark, reset string }

func (a *app) style(w io.Writer) style {
	if !a.colored(w) {
		return style{}
	}
	return style{bold: "\x1b[1m", dim: "\x1b[2m", title: "\x1b[1;36m", mark: "\x1b[1;33m", reset: "\x1b[0m"}
}

// printf writes to standard output. A failure, such as a full disk, is reported
// when the command has ended.
func (a *app) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(a.out, format, args...); err != nil && a.outErr == nil {
		a.outErr = err
	}
}

// notef writes a message for people to standard error, unless --quiet or --json.
func (a *app) notef(format string, args ...any) {
	if !a.quiet && !a.json {
		fmt.Fprintf(a.err, format+"\n", args...)
	}
}

// printJSON writes v as one indented JSON document.
func (a *app) printJSON(v any) error { return writeJSON(a.out, v) }

// writeJSON writes v for people to read and machines to parse.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// report tells the user about the error with which a command ended, if any, and
// returns the exit code.
func (a *app) report(command string, err error) int {
	if err == nil {
		err = a.outErr
	}
	if err != nil {
		a.printError(command, err)
	}
	return exitCode(err)
}

// jsonError is an error as machines get it: where they read the result.
type jsonError struct {
	Message  string `json:"message"`
	ExitCode int    `json:"exit_code"`
	Hint     string `json:"hint,omitempty"`
	Offset   *int   `json:"offset,omitempty"` // byte of the query at which it goes wrong
}

// newJSONError describes the error of a command.
func newJSONError(command string, err error) jsonError {
	e := jsonError{Message: message(err), ExitCode: exitCode(err), Hint: hint(command, err)}
	if e.ExitCode == exitInterrupted {
		e.Message = "interrupted"
	}
	var q *griffin.QueryError
	if errors.As(err, &q) && q.Text != "" { // else of no certain place
		e.Offset = &q.Offset
	}
	return e
}

// message is the text of an error without the name of the kind "bad input", by which
// errors.Is tells it, and which tells a user nothing.
func message(err error) string {
	kind := base.ErrBadInput.Error()
	if !errors.Is(err, base.ErrBadInput) || err.Error() == kind {
		return err.Error()
	}
	text := strings.ReplaceAll(err.Error(), ": "+kind+"\n", "\n")
	return strings.ReplaceAll(strings.TrimSuffix(text, ": "+kind), kind+": ", "")
}

// toldError is an error that is part of the JSON that a command has written.
type toldError struct{ error }

func (e toldError) Unwrap() error { return e.error }

// printError writes an error to standard error, with the place in the query that
// it is about and a hint, and with --json to standard output too.
func (a *app) printError(command string, err error) {
	e := newJSONError(command, err)
	if e.ExitCode == exitInterrupted && isTerminal(a.err) {
		fmt.Fprint(a.err, "\r") // over the ^C that the terminal wrote
	}
	fmt.Fprintln(a.err, "griffin:", e.Message)
	var q *griffin.QueryError
	if errors.As(err, &q) && q.Text != "" { // else of no certain place
		fmt.Fprintln(a.err, q.Caret())
	}
	if e.Hint != "" {
		fmt.Fprintln(a.err, "  →", e.Hint)
	}
	if told := (toldError{}); a.json && !errors.As(err, &told) {
		_ = a.printJSON(map[string]jsonError{"error": e}) // there is no other way to tell
	}
}
