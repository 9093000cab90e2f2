package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/rest"
)

func newGetCommand(a *app) *cobra.Command {
	var server serverFlag
	c := &cobra.Command{
		Use:   "get INDEX ID…",
		Short: "Print documents by id",
		Long: `Get prints stored documents as JSON, with --json one a line. It ends with an error at
an id without a document; with --json it prints none then. With --server, INDEX is the name of an index on a running server.`,
		Example: "  griffin get notes.idx http.md\n  griffin get notes.idx http.md parser.md --json",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			read, done, err := a.openReading(cmd.Context(), &server, args[0])
			if err != nil {
				return err
			}
			return errors.Join(a.get(cmd.Context(), read, args[1:]), done())
		},
	}
	server.registerReading(c.Flags())
	return c
}

// get prints, with --json, all documents or none: an error is the only JSON then.
func (a *app) get(ctx context.Context, read func(ctx context.Context, id string) ([]byte, error), ids []string) error {
	var lines []byte
	for _, id := range ids {
		line, err := read(ctx, id)
		switch {
		case err != nil:
			return err
		case a.json:
			lines = append(lines, line...)
			continue
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, line, "", "  "); err != nil {
			return err
		}
		a.printf("%s", indented.String())
	}
	a.printf("%s", lines)
	return nil
}

// openReading returns the function that reads a document as a line of JSON.
func (a *app) openReading(ctx context.Context, server *serverFlag, index string) (read func(ctx context.Context, id string) ([]byte, error), done func() error, err error) {
	if server.url != "" {
		s, err := server.open(index)
		if err != nil {
			return nil, nil, err
		}
		return s.line, func() error { return nil }, nil
	}
	ix, err := openIndex(index, griffin.Options{})
	if err != nil {
		return nil, nil, err
	}
	if _, err := a.noteUncommitted(index); err != nil || ctx.Err() != nil {
		return nil, nil, errors.Join(err, ctx.Err(), ix.Close())
	}
	read = func(ctx context.Context, id string) ([]byte, error) {
		d, err := ix.Document(ctx, id)
		if err != nil {
			return nil, err
		}
		return rest.NewLines(ix.Mapping()).Append(nil, &d), nil
	}
	return read, ix.Close, nil
}

// line reads a document of a server.
func (s *serverIndex) line(ctx context.Context, id string) ([]byte, error) {
	var answer struct {
		Found  bool            `json:"found"`
		Source json.RawMessage `json:"_source"`
	}
	err := callServer(ctx, s.client, http.MethodGet, s.url+"/_doc/"+url.PathEscape(id), nil, &answer)
	var failed *serverError
	if errors.As(err, &failed) && failed.status == http.StatusNotFound && failed.Type == "" {
		return nil, fmt.Errorf("document %q: %w", id, griffin.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	d := griffin.Document{ID: id, Fields: []griffin.Field{{Name: "_source", Value: string(answer.Source)}}}
	return rest.NewLines(nil).Append(nil, &d), nil
}
