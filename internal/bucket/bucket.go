package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/griffin-search/griffin/internal/backup"
	"github.com/griffin-search/griffin/internal/base"
)

// Bucket is a bucket, or the part of it below a prefix.
type Bucket struct{ blobs *blob.Bucket }

var _ backup.Objects = (*Bucket)(nil)

// Open opens a URL such as s3://bucket/prefix?region=eu-west-1. The parameters are as in gocloud.dev, and
// credentials are found as the provider's own tools do. The error wraps base.ErrBadInput if the URL is not
// one, or if this build has no such provider.
func Open(ctx context.Context, text string) (*Bucket, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, base.ErrBadInput)
	}
	if !blob.DefaultURLMux().ValidBucketScheme(u.Scheme) {
		return nil, fmt.Errorf("%s: this build of griffin has no %s:// (it has %s://): %w", text, u.Scheme, strings.Join(schemes(), "://, "), base.ErrBadInput)
	}
	prefix := strings.Trim(u.Path, "/")
	u.Path = ""
	blobs, err := blob.OpenBucket(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", text, err, base.ErrBadInput)
	}
	return New(blobs, prefix), nil
}

// schemes are the providers of this build.
func schemes() []string { return blob.DefaultURLMux().BucketSchemes() }

// New is the part of a bucket below a prefix.
func New(blobs *blob.Bucket, prefix string) *Bucket {
	if prefix != "" {
		blobs = blob.PrefixedBucket(blobs, prefix+"/")
	}
	return &Bucket{blobs}
}

// Close releases the connection.
func (b *Bucket) Close() error { return b.blobs.Close() }

// Put implements backup.Objects.
func (b *Bucket) Put(ctx context.Context, name string, from io.Reader, create bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := b.blobs.NewWriter(ctx, name, &blob.WriterOptions{ContentType: "application/octet-stream", IfNotExist: create})
	if err != nil {
		return explained(name, err)
	}
	if _, err := io.Copy(w, from); err != nil {
		cancel() // Close then writes no object
		return explained(name, errors.Join(err, ignoreCancelled(w.Close())))
	}
	return explained(name, w.Close())
}

func ignoreCancelled(err error) error {
	if errors.Is(err, context.Canceled) || gcerrors.Code(err) == gcerrors.Canceled {
		return nil
	}
	return err
}

// Get implements backup.Objects.
func (b *Bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := b.blobs.NewReader(ctx, name, nil)
	if err != nil {
		return nil, explained(name, err)
	}
	return r, nil
}

// List implements backup.Objects.
func (b *Bucket) List(ctx context.Context, prefix string) (map[string]int64, error) {
	objects := map[string]int64{}
	for all := b.blobs.List(&blob.ListOptions{Prefix: prefix}); ; {
		object, err := all.Next(ctx)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, explained(prefix, err)
		}
		objects[object.Key] = object.Size
	}
}

// Delete implements backup.Objects.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	err := b.blobs.Delete(ctx, name)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	return explained(name, err)
}

// explained wraps the errors that callers know.
func explained(name string, err error) error {
	var kind error
	switch gcerrors.Code(err) {
	case gcerrors.OK:
		return nil
	case gcerrors.NotFound:
		kind = fs.ErrNotExist
	case gcerrors.PermissionDenied:
		kind = fs.ErrPermission
	case gcerrors.FailedPrecondition, gcerrors.AlreadyExists:
		kind = base.ErrExists
	default:
		return fmt.Errorf("object %s: %w", name, err)
	}
	return fmt.Errorf("object %s: %w: %w", name, kind, err)
}
