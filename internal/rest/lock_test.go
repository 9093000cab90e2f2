package rest

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

// A second server would delete indexes of the first, which would go on acknowledging writes.
func TestOneServerAFolder(t *testing.T) {
	n := newNode(t)
	n.must(201, "PUT /a/_doc/1", `{"title":"Moby Dick"}`)
	o := DirectoryOptions{Index: n.d.options.Index, Logger: slog.New(slog.DiscardHandler)}
	if _, err := OpenDirectory(t.Context(), n.dir, o); !errors.Is(err, griffin.ErrLocked) || !strings.Contains(err.Error(), n.dir) {
		t.Fatalf("%v, want ErrLocked", err)
	}
	n.must(201, "PUT /a/_doc/2", `{"title":"Typee"}`)
	n.close()
	second, err := OpenDirectory(t.Context(), n.dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if names := second.Names(); len(names) != 1 {
		t.Errorf("%v", names)
	}
	if err := second.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
