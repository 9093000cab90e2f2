package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/query"
)

type terminal struct {
	in       io.Reader
	out, err io.Writer
}

type app struct{ *console }

// console writes in the form of the global flags.
type console struct {
	terminal
	json  bool
	quiet bool
	color string // auto, always, never

	outErr error // first failure of printf
}

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (con *console) colored(w io.Writer) bool {
	switch con.color {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// The empty style writes plain text.
type style struct{ bold, dim, title, mark, reset string }

func (con *console) style(w io.Writer) style {
	if !con.colored(w) {
		return style{}
	}
	return style{bold: "\x1b[1m", dim: "\x1b[2m", title: "\x1b[1;36m", mark: "\x1b[1;33m", reset: "\x1b[0m"}
}

// A failure, such as a full disk, is reported when the command has ended.
func (con *console) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(con.out, format, args...); err != nil && con.outErr == nil {
		con.outErr = err
	}
}

// notef writes a message for people to standard error, unless --quiet or --json.
func (con *console) notef(format string, args ...any) {
	if !con.quiet && !con.json {
		fmt.Fprintf(con.err, format+"\n", args...)
	}
}

// warnf is notef for what a result lacks: also with --json.
func (con *console) warnf(format string, args ...any) {
	if !con.quiet {
		fmt.Fprintf(con.err, format+"\n", args...)
	}
}

func (con *console) printJSON(v any) error { return writeJSON(con.out, v) }

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// report prints the error, if any, and returns the exit code.
func (con *console) report(command string, err error) int {
	if err == nil {
		err = con.outErr
	}
	if err != nil {
		con.printError(command, err)
	}
	return exitCode(err)
}

type jsonError struct {
	Message  string `json:"message"`
	ExitCode int    `json:"exit_code"`
	Hint     string `json:"hint,omitempty"`
	Offset   *int   `json:"offset,omitempty"` // byte of the query at which the error is
}

func newJSONError(command string, err error) jsonError {
	e := jsonError{Message: base.Message(err), ExitCode: exitCode(err), Hint: hint(command, err)}
	if e.ExitCode == exitInterrupted {
		e.Message = "interrupted"
	}
	var q *query.Error
	if errors.As(err, &q) && q.Text != "" { // otherwise it has no position
		e.Offset = &q.Offset
	}
	return e
}

// toldError is already in the command's JSON.
type toldError struct{ error }

func (e toldError) Unwrap() error { return e.error }

// printError writes to standard error, with the position in the query and a hint, and with
// --json to standard output, too.
func (con *console) printError(command string, err error) {
	e := newJSONError(command, err)
	if e.ExitCode == exitInterrupted && isTerminal(con.err) {
		fmt.Fprint(con.err, "\r") // over the ^C that the terminal wrote
	}
	fmt.Fprintln(con.err, "griffin:", e.Message)
	var q *query.Error
	if errors.As(err, &q) && q.Text != "" { // otherwise it has no position
		fmt.Fprintln(con.err, q.Caret())
	}
	if e.Hint != "" {
		fmt.Fprintln(con.err, "  →", e.Hint)
	}
	if told := (toldError{}); con.json && !errors.As(err, &told) {
		_ = con.printJSON(map[string]jsonError{"error": e}) // a failure cannot be reported
	}
}
