package main

import (
	"encoding/json"
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
	guessed, update := false, mappingFile{}
	o := indexOptions{}
	c := &cobra.Command{
		Use:   "mapping INDEX",
		Short: "Show the fields of an index and their types",
		Long: `Mapping prints the fields of an index as a mapping of OpenSearch, in JSON. A new index
gets the same fields with griffin index --mapping FILE.

With --guess, the arguments are files of JSON or CSV records or folders. Mapping reads the
first 10,000 records and prints the types that all their values have: a mapping to check, to
edit and to use.

With --update FILE, mapping declares the fields of a mapping that the index does not have, and
changes boost, search_analyzer, ignore_above and copy_to of those that it has, for documents
that are added later.`,
		Example: "  griffin mapping notes.idx\n  griffin mapping --guess wiki-1.jsonl.zst",
		Args: func(cmd *cobra.Command, args []string) error {
			if guessed {
				return cobra.MinimumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if guessed && update.name != "" {
				return usagef("--guess and --update are for different arguments")
			}
			if guessed {
				m, err := a.guessMapping(cmd.Context(), &o.files, args)
				if err != nil {
					return err
				}
				return a.printJSON(m)
			}
			for _, name := range []string{"format", "id-field", "title-field", "text-field", "extra-fields", "pdftotext"} {
				if cmd.Flags().Changed(name) {
					return usagef("--%s applies with --guess only", name)
				}
			}
			if update.name != "" {
				if err := update.read(griffin.ParseMappingUpdate); err != nil {
					return err
				}
				if update.analysis {
					return usagef("mapping %s: analysis settings are fixed when an index is made", update.name)
				}
			}
			ix, err := openIndex(args[0], griffin.Options{})
			if err != nil {
				return err
			}
			if update.parsed != nil {
				err := ix.AddMapping(cmd.Context(), update.parsed)
				if err == nil {
					err = ix.Commit(cmd.Context())
				}
				if err != nil {
					return errors.Join(err, ix.Close())
				}
			}
			return errors.Join(a.printJSON(ix.Mapping()), ix.Close())
		},
	}
	c.Flags().BoolVar(&guessed, "guess", false, "guess the types of the fields of files")
	c.Flags().StringVar(&update.name, "update", "", "change the fields of the index by a mapping in a `FILE`")
	o.registerFormat(c.Flags())
	return c
}

// mappingFile is the file of --mapping or --update.
type mappingFile struct {
	name     string
	parsed   *griffin.Mapping // nil: none
	analysis bool             // the file also has analysis settings, for griffin.ReadAnalysis
}

// read also accepts the body of a request that creates an index of OpenSearch, with mappings and analysis settings.
func (f *mappingFile) read(parse func([]byte) (*griffin.Mapping, error)) error {
	text, err := os.ReadFile(f.name)
	if err != nil {
		return err
	}
	if text, err = f.takeSettings(text); err != nil {
		return err
	}
	if f.parsed, err = parse(text); err != nil {
		return usagef("mapping %s: %s", f.name, base.Message(err))
	}
	return nil
}

// takeSettings returns the mappings of the body of a request that creates an index, and text if it is none.
func (f *mappingFile) takeSettings(text []byte) ([]byte, error) {
	body := membersOf(text)
	if body["settings"] == nil || body["mappings"] == nil {
		return text, nil
	}
	for name := range body {
		if name != "settings" && name != "mappings" {
			return nil, usagef("mapping %s: [%s] beside [settings] and [mappings]: griffin index reads only these", f.name, name)
		}
	}
	settings := body["settings"]
	for _, within := range []string{"settings", "settings.index"} {
		members := membersOf(settings)
		if members == nil {
			return nil, usagef("mapping %s: [%s] is not a JSON object", f.name, within)
		}
		for name := range members {
			if name != "analysis" && (name != "index" || within != "settings") {
				return nil, usagef("mapping %s: [%s.%s] is no analysis setting; griffin index takes other settings as flags", f.name, within, name)
			}
		}
		f.analysis = f.analysis || members["analysis"] != nil
		if settings = members["index"]; settings == nil {
			break
		}
	}
	return body["mappings"], nil
}

// membersOf returns the members of a JSON object; nil if text is none.
func membersOf(text []byte) (members map[string]json.RawMessage) {
	_ = json.Unmarshal(text, &members) // members stays nil after an error
	return members
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
