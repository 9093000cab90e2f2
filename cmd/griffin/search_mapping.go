package main

import (
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/mapping"
)

func newMappingCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "mapping INDEX",
		Short: "Show the fields of an index and their types",
		Long: `Mapping prints the fields of an index as a mapping of OpenSearch, in JSON. A new index
gets the same fields with griffin index --mapping FILE.`,
		Example: "  griffin mapping notes.idx",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			ix, err := openIndex(args[0], griffin.Options{})
			if err != nil {
				return err
			}
			return errors.Join(a.printJSON(ix.Mapping()), ix.Close())
		},
	}
}

// mappingFile is the file of --mapping.
type mappingFile struct {
	name   string
	parsed *griffin.Mapping // nil: none
}

func (f *mappingFile) read() error {
	text, err := os.ReadFile(f.name)
	if err != nil {
		return err
	}
	if f.parsed, err = griffin.ParseMapping(text); err != nil {
		return usagef("--mapping %s: %s", f.name, base.Message(err))
	}
	return nil
}

// mappedBy returns what reading a corpus has to know of a mapping; nil if it has texts only.
func mappedBy(m *griffin.Mapping) *corpus.Mapped {
	if !slices.ContainsFunc(m.Fields(), func(f griffin.MappedField) bool { return f.Type != "text" }) {
		return nil
	}
	text, err := m.MarshalJSON()
	if err != nil {
		return nil
	}
	parsed, err := mapping.Parse(text)
	if err != nil {
		return nil
	}
	return inverter.Mapped(parsed)
}
