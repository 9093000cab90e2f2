//go:build nolab

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

var errNoLab = errors.New("built without the lab: with the build tag nolab")

func newLabCommand(*app) *cobra.Command {
	return &cobra.Command{
		Use:     "lab",
		Short:   "Reproduce the tables and figures of the papers (not in this build)",
		Example: "  griffin lab",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(*cobra.Command, []string) error { return errNoLab },
	}
}
