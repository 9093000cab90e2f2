package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/rest"
)

// openIndex opens an index. Its error names the indexes of a folder of indexes.
func openIndex(dir string, o griffin.Options) (*griffin.Index, error) {
	ix, err := griffin.Open(dir, o)
	return ix, explainFolder(dir, err)
}

// hasIndexes reports whether dir is a folder that griffin serve has written to.
func hasIndexes(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, rest.MetaFolder))
	return err == nil && info.IsDir()
}

// explainFolder adds to an error of opening dir that it is a folder of indexes.
func explainFolder(dir string, err error) error {
	if !errors.Is(err, griffin.ErrNotIndex) || !hasIndexes(dir) {
		return err
	}
	const most = 5
	advice := "make an index in it with: griffin index --out " + filepath.Join(dir, "NAME") + " PATH…"
	if names := indexesIn(dir, most+1); len(names) > 0 {
		if len(names) > most {
			names[most] = "…"
		}
		advice = "name one of them: " + strings.Join(names, ", ") + "; if a server has the folder, use --server URL and the name of the index"
	}
	return hintedError{fmt.Errorf("%s: this is a folder of indexes: %w", dir, err), advice}
}

// indexesIn returns the paths of at most n indexes of dir.
func indexesIn(dir string, n int) (paths []string) {
	entries, _ := os.ReadDir(dir) // the caller has an error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() || e.Name() == rest.MetaFolder || len(paths) == n {
			continue
		}
		if ix, err := griffin.Open(path, griffin.Options{}); err == nil {
			_ = ix.Close() // nothing was written
			paths = append(paths, path)
		}
	}
	return paths
}
