package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// flagError puts a complaint of cobra or pflag in words that name the flags as they are
// typed, and say what they want.
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

// wants says what a flag wants that has a value that it cannot have.
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
