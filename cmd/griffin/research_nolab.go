//go:build nolab

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

var errNoLab = errors.New("built without the lab, the policies' comparison and the papers' engines: with the build tag nolab")

func newLabCommand(*app) *cobra.Command {
	return &cobra.Command{
		Use:     "lab",
		Short:   "Reproduce the tables and figures of the papers (not in this build)",
		Example: "  griffin lab",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(*cobra.Command, []string) error { return errNoLab },
	}
}

func newPoliciesCommand(*app) *cobra.Command {
	return &cobra.Command{
		Use:     "policies",
		Short:   "Compare the policies that choose between CPU and GPU (not in this build)",
		Example: "  griffin policies",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(*cobra.Command, []string) error { return errNoLab },
	}
}
