package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin/internal/suggest"
)

// parseError suggests the nearest flag for a wrong one, and the syntax for words that begin
// with a hyphen.
func parseError(cmd *cobra.Command, err error) error {
	told := flagError(err)
	var unknown *pflag.NotExistError
	shorthand := ""
	if errors.As(err, &unknown) {
		shorthand = unknown.GetSpecifiedShortnames()
	}
	switch {
	case unknown != nil && shorthand == "":
		told = fmt.Errorf("unknown flag --%s", unknown.GetSpecifiedName())
		if near := nearestFlag(cmd, unknown.GetSpecifiedName()); near != "" {
			told = fmt.Errorf("%w; did you mean --%s?", told, near)
		}
	case shorthand != "" && cmd.Name() == "search":
		return hintedError{told, fmt.Sprintf("to leave out documents with a word, quote the query (griffin search INDEX 'word -%s') or put -- before it (griffin search INDEX -- word -%[1]s)", shorthand)}
	}
	return told
}

func nearestFlag(cmd *cobra.Command, typed string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return nearest(typed, names)
}

// nearest returns the name with the least edit distance, at most maxTypos, or "". A name that
// begins with typed counts as maxTypos away.
func nearest(typed string, names []string) string {
	found, least := "", maxTypos+1
	for _, name := range names {
		d := suggest.Distance(name, typed)
		if len(typed) > maxTypos && strings.HasPrefix(name, typed) {
			d = min(d, maxTypos)
		}
		if d < least {
			found, least = name, d
		}
	}
	return found
}

const maxTypos = 2

func unknownCommand(parent *cobra.Command, typed string) error {
	err := fmt.Errorf("unknown command %q for %q", typed, parent.CommandPath())
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if near := nearest(typed, names); near != "" {
		err = fmt.Errorf("%w; did you mean %q?", err, near)
	}
	return err
}

// flagError rewords an error of cobra or pflag with the flag as typed and the valid values.
func flagError(err error) error {
	if invalid := (*pflag.InvalidValueError)(nil); errors.As(err, &invalid) {
		return fmt.Errorf("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), wants(invalid))
	}
	text := err.Error()
	if _, given, ok := strings.Cut(text, "none of the others can be; ["); ok {
		given, _, _ = strings.Cut(given, "]")
		return fmt.Errorf("--%s cannot be given together", strings.Join(strings.Fields(given), " and --"))
	}
	if missing, ok := strings.CutPrefix(text, "required flag(s) "); ok {
		missing = strings.TrimSuffix(missing, " not set")
		return fmt.Errorf("required flag --%s is missing", strings.ReplaceAll(strings.ReplaceAll(missing, `"`, ""), ", ", ", --"))
	}
	return err
}

// wants describes the valid values of a flag.
func wants(invalid *pflag.InvalidValueError) string {
	if errors.Is(invalid, strconv.ErrRange) {
		return "the number is out of range"
	}
	switch kind := invalid.GetFlag().Value.Type(); {
	case kind == "duration":
		return "want a time such as 500ms, 30s or 5m"
	case kind == "float64Slice":
		return "want numbers with commas between them"
	case strings.HasPrefix(kind, "float"):
		return "want a number"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "want a whole number"
	}
	return errors.Unwrap(invalid).Error()
}
