package main

import (
	"errors"

	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/vfs"
)

// openSnapshot returns the last commit of the index in dir, for commands below the package
// griffin, to be released after use.
func openSnapshot(dir string) (*index.Snapshot, error) {
	return openSnapshotWithCache(dir, derived.DefaultLimit)
}

func openSnapshotWithCache(dir string, cacheBytes int64) (*index.Snapshot, error) {
	ix, err := index.Open(vfs.OS, dir)
	if err != nil {
		return nil, err
	}
	ix.SetCache(cacheBytes)
	snapshot, err := ix.Snapshot()
	return snapshot, errors.Join(err, ix.Close()) // a snapshot outlives its index
}
