//go:build nobuckets

package main

import "context"

func openBucket(_ context.Context, url string) (localStore, func() error, error) {
	return nil, nil, usagef("%s: this build of griffin has no buckets: it was made with the build tag nobuckets", url)
}
