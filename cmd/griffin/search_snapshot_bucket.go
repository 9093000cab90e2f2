//go:build !nobuckets

package main

import (
	"context"

	"github.com/griffin-search/griffin/internal/backup"
	"github.com/griffin-search/griffin/internal/bucket"
	"github.com/griffin-search/griffin/internal/vfs"
)

func openBucket(ctx context.Context, url string) (localStore, func() error, error) {
	b, err := bucket.Open(ctx, url)
	if err != nil {
		return nil, nil, badFlags(err)
	}
	return backup.NewBucket(vfs.OS, b, url), b.Close, nil
}
