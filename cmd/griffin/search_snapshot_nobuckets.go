//go:build nobuckets

package main

import (
	"context"

	"github.com/griffin-search/griffin/internal/rest"
)

func openBucket(_ context.Context, url string) (rest.SnapshotStore, func() error, error) {
	return nil, nil, usagef("%s: this build of griffin has no buckets: it was made with the build tag nobuckets", url)
}
