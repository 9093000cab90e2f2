package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
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

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// notef writes a message for people to standard error, unless --quiet or --json.
func (a *app) notef(format string, args ...any) {
	if !a.quiet && !a.json {
		fmt.Fprintf(a.err, format+"\n", args...)
	}
}

// printJSON writes v as one indented JSON document.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// report tells the user about err, if any, and returns the exit code.
func (a *app) report(err error) int {
	code := exitCode(err)
	if code == exitOK {
		return code
	}
	message := err.Error()
	if errors.Is(err, context.Canceled) {
		message = "interrupted"
	}
	if a.json {
		// Machines get the error where they read the result.
		_ = a.printJSON(map[string]any{"error": map[string]any{"message": message, "exit_code": code, "hint": hint(err)}})
	}
	fmt.Fprintln(a.err, "griffin:", message)
	if h := hint(err); h != "" {
		fmt.Fprintln(a.err, "  →", h)
	}
	return code
}
