package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"github.com/griffin-search/griffin/internal/base"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// s3Server answers the protocol of S3 over HTTP. The first requests of broken get a 503.
func s3Server(t *testing.T, broken *atomic.Int64) (url string) {
	t.Helper()
	fake := gofakes3.New(s3mem.New(), gofakes3.WithAutoBucket(true)).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Add(-1) >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	return "s3://bucket/a/prefix?region=us-east-1&use_path_style=true&endpoint=" + server.URL
}

// Every provider holds the contract of backup.Objects.
func TestProviders(t *testing.T) {
	dir, err := fileblob.OpenBucket(t.TempDir(), nil)
	check(t, err)
	var broken atomic.Int64
	s3, err := Open(t.Context(), s3Server(t, &broken))
	check(t, err)
	for name, b := range map[string]*Bucket{"mem": New(memblob.OpenBucket(nil), ""), "file": New(dir, "a/prefix"), "s3": s3} {
		t.Run(name, func(t *testing.T) {
			defer func() { check(t, b.Close()) }()
			testObjects(t, b)
			broken.Store(1) // the SDK repeats the request
			if got := read(t, b, "seg/1"); string(got) != "one" {
				t.Errorf("read %q", got)
			}
			broken.Store(0)
		})
	}
}

func read(t *testing.T, b *Bucket, name string) []byte {
	t.Helper()
	from, err := b.Get(t.Context(), name)
	check(t, err)
	data, err := io.ReadAll(from)
	check(t, errors.Join(err, from.Close()))
	return data
}

func testObjects(t *testing.T, b *Bucket) {
	t.Helper()
	ctx := t.Context()
	large := make([]byte, 12<<20) // several parts of an upload
	rng := rand.NewChaCha8([32]byte{})
	_, _ = rng.Read(large)
	check(t, b.Put(ctx, "seg/1", strings.NewReader("one"), false))
	check(t, b.Put(ctx, "seg/2", bytes.NewReader(large), false))
	check(t, b.Put(ctx, "a.snapshot", strings.NewReader("first"), true))
	if err := b.Put(ctx, "a.snapshot", strings.NewReader("second"), true); !errors.Is(err, base.ErrExists) {
		t.Errorf("created twice: %v", err)
	}
	check(t, b.Put(ctx, "empty", strings.NewReader(""), false))
	if got := read(t, b, "a.snapshot"); string(got) != "first" {
		t.Errorf("read %q", got)
	}
	if !bytes.Equal(read(t, b, "seg/2"), large) {
		t.Error("a large object is another one")
	}
	if _, err := b.Get(ctx, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no object: %v", err)
	}
	for i := range 1200 { // several pages of a list
		check(t, b.Put(ctx, fmt.Sprintf("many/%04d", i), strings.NewReader("x"), false))
	}
	for prefix, want := range map[string]int{"seg/": 2, "many/": 1200, "": 1204, "none": 0} {
		if got, err := b.List(ctx, prefix); err != nil || len(got) != want {
			t.Errorf("list %q: %d objects, %v, want %d", prefix, len(got), err, want)
		}
	}
	sizes, err := b.List(ctx, "seg")
	check(t, err)
	if !maps.Equal(sizes, map[string]int64{"seg/1": 3, "seg/2": int64(len(large))}) {
		t.Errorf("sizes: %v", sizes)
	}
	// An upload that fails, or is cancelled, leaves nothing.
	errBroken := errors.New("broken")
	if err := b.Put(ctx, "partial", io.MultiReader(bytes.NewReader(large), failing{errBroken}), false); !errors.Is(err, errBroken) {
		t.Errorf("a broken reader: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	if err := b.Put(cancelled, "partial", io.MultiReader(bytes.NewReader(large), ending{cancel}), false); err == nil {
		t.Error("a cancelled upload succeeded")
	}
	if got, err := b.List(ctx, "partial"); err != nil || len(got) > 0 {
		t.Errorf("left: %v, %v", got, err)
	}
	for range 2 {
		check(t, b.Delete(ctx, "empty"))
	}
	if _, err := b.Get(ctx, "empty"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// ending cancels a context and ends.
type ending struct{ cancel func() }

func (e ending) Read([]byte) (int, error) { e.cancel(); return 0, context.Canceled }

func TestOpenErrors(t *testing.T) {
	for _, url := range []string{"nothing://bucket", "://", "bucket", "s3://bucket?unknown_parameter=1"} {
		b, err := Open(t.Context(), url)
		if !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%s: %v", url, err)
		}
		if err == nil {
			check(t, b.Close())
		}
	}
	if _, err := Open(t.Context(), "gs://bucket"); !slices.Contains(schemes(), "gs") && (err == nil || !strings.Contains(err.Error(), "has no gs://")) {
		t.Errorf("gs: %v", err)
	}
}
