package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/backup"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/rest"
	"github.com/griffin-search/griffin/internal/server"
)

// isDirectory reports whether serve takes dir for a folder of indexes: there is no such folder, it is
// empty, or it has an index, or had one.
func isDirectory(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist) && filepath.Ext(dir) == ".idx":
		return false, hintedError{
			fmt.Errorf("%s: there is no such index: %w", dir, griffin.ErrNotIndex),
			"build it with: griffin index --out " + dir + " PATH…; to serve a new folder of indexes, choose a name without .idx",
		}
	case errors.Is(err, os.ErrNotExist):
		return true, nil
	case err != nil:
		return false, nil //nolint:nilerr // opening the index reports it
	}
	ix, err := griffin.Open(dir, griffin.Options{})
	if !errors.Is(err, griffin.ErrNotIndex) {
		if err == nil {
			err = ix.Close()
		}
		return false, err
	}
	for _, e := range entries {
		if e.Name() == rest.MetaFolder {
			return true, nil
		}
		if ix, err := griffin.Open(filepath.Join(dir, e.Name()), griffin.Options{}); !errors.Is(err, griffin.ErrNotIndex) {
			if err == nil {
				err = ix.Close()
			}
			return err == nil, err
		}
	}
	if len(entries) > 0 {
		return false, hintedError{
			fmt.Errorf("%s: neither an index nor a folder of indexes, and not empty: %w", dir, griffin.ErrNotIndex),
			"name an index, a folder with indexes, or a new or empty folder",
		}
	}
	return true, nil
}

// runtime is one for all indexes of a directory.
func (o *serveOptions) runtime(dir string) (*griffin.Runtime, error) {
	spec, err := o.spec()
	if err != nil {
		return nil, err
	}
	r := griffin.RuntimeOptions{
		Limits: o.admission.limits(), CacheBytes: o.cache.bytes(), Policy: griffin.Policy(o.policy), Ratio: o.ratio, WorkersPerQuery: o.workers,
		CostDir: filepath.Join(dir, rest.MetaFolder), Engine: spec.String(),
	}
	r.GPU.Device, r.GPU.NoHostMemory, r.GPU.Layout = o.device, o.host == "0", griffin.Layout(o.layout)
	for text, to := range map[*string]*int64{&o.memory: &r.GPU.Memory.Bytes, &o.host: &r.GPU.HostMemory.Bytes} {
		bytes, percent, err := dispatch.ParseMemory(*text)
		if err != nil {
			return nil, err
		}
		if percent != 0 {
			return nil, usagef("memory of GPUs in per cent of the posting lists is for one index")
		}
		*to = bytes
	}
	runtime, err := griffin.NewRuntime(r)
	if err != nil {
		return nil, badFlags(err)
	}
	return runtime, nil
}

// serveDirectory serves a folder of indexes until ctx ends.
func (a *app) serveDirectory(ctx context.Context, o serveOptions, dir string) (err error) {
	if err := os.MkdirAll(filepath.Join(dir, rest.MetaFolder), 0o755); err != nil {
		return err
	}
	runtime, err := o.runtime(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runtime.Close()) }()
	logger := slog.New(slog.NewTextHandler(a.err, nil))
	repositories, closeStores, err := o.openRepositories(ctx, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStores()) }()
	d, err := rest.OpenDirectory(ctx, dir, rest.DirectoryOptions{MergeBytesPerSecond: int64(o.mergeRate), Repositories: repositories, Index: griffin.Options{Runtime: runtime, ResultCache: int64(o.results.limit)}, Logger: logger})
	if errors.Is(err, griffin.ErrLocked) {
		return hintedError{err, "a folder has one server at a time"}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close(context.WithoutCancel(ctx))) }()
	if err := a.warmDirectory(ctx, o.resident, d); err != nil {
		return err
	}
	options := o.server(logger, writesBeside)
	options.Directory = d
	handler, err := server.New(options)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.addr)
	if err != nil {
		return err
	}
	n := len(d.Names())
	if a.json {
		if err := a.printJSON(map[string]any{"url": "http://" + listener.Addr().String() + "/", "num_indexes": n}); err != nil {
			return errors.Join(err, listener.Close())
		}
	} else {
		indexes := "1 index"
		if n != 1 {
			indexes = fmt.Sprintf("%d indexes", n)
		}
		a.printf("%s: %s on http://%s/ (Ctrl-C stops)\n", dir, indexes, listener.Addr())
	}
	return serveUntil(ctx, listener, handler, o.grace, logger)
}

// warmDirectory loads the lists of the indexes to the GPUs, one index after another, until the memory is full.
func (a *app) warmDirectory(ctx context.Context, r residentFlag, d *rest.Directory) error {
	for _, name := range d.Names() {
		ix, err := d.Open(name)
		if err != nil { // the log has it
			continue
		}
		if err := a.warm(ctx, r, false /* impacts */, warmerOfIndex(ix)); err != nil {
			return fmt.Errorf("index %s: %w", name, err)
		}
	}
	return nil
}

// openRepositories opens the places of snapshots of --repository. A folder that is unusable is an error. A bucket that does not
// answer may do so later, and searches need none: that is logged.
func (o *serveOptions) openRepositories(ctx context.Context, logger *slog.Logger) (all map[string]rest.Repository, done func() error, err error) {
	all = map[string]rest.Repository{}
	var closers []func() error
	done = func() (err error) {
		for _, c := range closers {
			err = errors.Join(err, c())
		}
		return err
	}
	for _, text := range o.repositories {
		name, where, ok := strings.Cut(text, "=")
		if backup.CheckName(name) != nil || !ok || where == "" {
			return nil, nil, errors.Join(usagef("--repository %q: want NAME=STORE, such as nightly=/var/backups/griffin", text), done())
		}
		if _, twice := all[name]; twice {
			return nil, nil, errors.Join(usagef("--repository %s is given twice", name), done())
		}
		store, closeStore, err := openStore(ctx, where)
		if err != nil {
			return nil, nil, errors.Join(err, done())
		}
		closers = append(closers, closeStore)
		if err := prepare(ctx, store); err != nil {
			if _, bucket := store.(*backup.Bucket); !bucket {
				return nil, nil, errors.Join(badFlags(fmt.Errorf("--repository %s: %w", name, err)), done())
			}
			logger.Warn("a repository of snapshots does not answer", "repository", name, "error", err)
		}
		all[name] = rest.Repository{Location: where, Store: store}
	}
	return all, done, nil
}

// prepare bounds the time that a bucket takes.
func prepare(ctx context.Context, store localStore) error {
	const limit = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return store.Prepare(ctx)
}
