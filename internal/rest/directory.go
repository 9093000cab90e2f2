package rest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/vfs"
)

// MetaFolder of a directory holds NAME.json of the indexes that this API made.
const MetaFolder = ".griffin"

// A folder with this prefix is an index that is being deleted, or is not complete yet.
const deletedPrefix = ".deleted-"

// DirectoryOptions configure a Directory.
type DirectoryOptions struct {
	// Index applies to each index; its Runtime, which is shared, is required.
	Index griffin.Options
	// Repositories are the places of snapshots, by name.
	Repositories map[string]Repository
	// WriterMemory is griffin.WriterOptions.MemoryBytes of each index.
	WriterMemory int64
	// MergeBytesPerSecond is griffin.WriterOptions.MergeBytesPerSecond of each index.
	MergeBytesPerSecond int64
	// Logger is slog.Default() by default.
	Logger *slog.Logger
}

// Directory is a folder of indexes, each with its writer.
type Directory struct {
	dir     string
	options DirectoryOptions
	log     *slog.Logger

	lock   io.Closer  // this process alone serves the folder
	making sync.Mutex // held while an index is made or deleted

	mu      sync.RWMutex
	indexes map[string]*Index
	closed  bool
}

// OpenDirectory opens the indexes in the folder dir, which it makes if there is none. An index that
// cannot be opened is logged, and requests for it fail. The error wraps griffin.ErrLocked if another
// process has the folder open. The caller closes the Directory before the
// Runtime.
func OpenDirectory(ctx context.Context, dir string, o DirectoryOptions) (*Directory, error) {
	d := &Directory{dir: dir, options: o, log: cmp.Or(o.Logger, slog.Default()), indexes: map[string]*Index{}}
	if err := os.MkdirAll(filepath.Join(dir, MetaFolder), 0o755); err != nil {
		return nil, err
	}
	var err error
	if d.lock, err = vfs.OS.Lock(filepath.Join(dir, MetaFolder, "LOCK")); errors.Is(err, griffin.ErrLocked) {
		return nil, fmt.Errorf("%s: another server serves this folder; stop it, or use it: %w", dir, griffin.ErrLocked)
	} else if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), deletedPrefix) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				d.log.Warn("the rest of a deleted index cannot be removed", "error", err)
			}
			continue
		}
		if !e.IsDir() || checkName(e.Name()) != nil {
			continue
		}
		x, err := d.open(ctx, e.Name())
		switch {
		case errors.Is(err, griffin.ErrNotIndex):
			continue
		case ctx.Err() != nil:
			return nil, errors.Join(ctx.Err(), d.Close(context.WithoutCancel(ctx)))
		case err != nil:
			d.log.Error("an index cannot be opened", "index", e.Name(), "error", err)
			x = &Index{name: e.Name(), err: err}
		}
		d.indexes[e.Name()] = x
	}
	return d, nil
}

// Runtime is shared by all indexes.
func (d *Directory) Runtime() *griffin.Runtime { return d.options.Index.Runtime }

// Names returns the names of all indexes, sorted.
func (d *Directory) Names() []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Sorted(maps.Keys(d.indexes))
}

// Open returns an index for reading; the Directory keeps ownership. The error wraps
// griffin.ErrNotFound if there is none; an index that could not be opened has that error.
func (d *Directory) Open(name string) (*griffin.Index, error) {
	d.mu.RLock()
	x := d.indexes[name]
	d.mu.RUnlock()
	if x == nil {
		return nil, fmt.Errorf("index %q: %w", name, griffin.ErrNotFound)
	}
	return x.ix, x.err
}

func (d *Directory) find(name string) (*Index, *Error) {
	d.mu.RLock()
	x := d.indexes[name]
	d.mu.RUnlock()
	switch {
	case x == nil:
		return nil, indexNotFound(name)
	case x.err != nil:
		return nil, &Error{
			Status: http.StatusServiceUnavailable, Type: "no_shard_available_action_exception", Index: name,
			Reason: fmt.Sprintf("index [%s] cannot be opened; the reason is in the server's log", name),
		}
	}
	return x, nil
}

// gone reports whether an index was deleted.
func (d *Directory) gone(x *Index) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return !d.closed && d.indexes[x.name] != x
}

// findOrCreate makes an index if there is none. It declares the fields of source, the first document; ""
// has none.
func (d *Directory) findOrCreate(ctx context.Context, name, source string) (*Index, *Error) {
	x, err := d.find(name)
	if err == nil || err.Status != http.StatusNotFound {
		return x, err
	}
	m, _ := parseCreate(nil)
	m.fields = dynamicFields(source)
	x, err = d.create(ctx, name, m)
	if err != nil && err.Type == typeExists { // another request has just made it
		if made, notFound := d.find(name); notFound == nil {
			return made, nil
		}
	}
	return x, err
}

const typeExists = "resource_already_exists_exception"

// create makes an index.
func (d *Directory) create(ctx context.Context, name string, m meta) (*Index, *Error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	d.making.Lock()
	defer d.making.Unlock()
	d.mu.RLock()
	x, closed := d.indexes[name], d.closed
	d.mu.RUnlock()
	switch {
	case closed:
		return nil, &Error{Status: http.StatusServiceUnavailable, Type: "node_closed_exception", Reason: "the server is stopping"}
	case x != nil:
		return nil, badRequest(typeExists, "index [%s] already exists", name).of(name)
	}
	m.UUID, m.Created = newID(), time.Now().UTC()
	x, err := d.make(context.WithoutCancel(ctx), name, m)
	switch {
	case errors.Is(err, griffin.ErrBadInput):
		return nil, illegal("index [%s]: %v", name, err).of(name)
	case errors.Is(err, griffin.ErrExists):
		return nil, badRequest(typeExists, "index [%s] already exists: another program has made its folder since the server was started, which serves it after a restart", name).of(name)
	case err != nil:
		d.log.Error("an index cannot be made", "index", name, "error", err)
		if e := blocked(name, err); e != nil {
			return nil, e
		}
		return nil, &Error{Status: http.StatusInternalServerError, Type: "exception", Index: name, Reason: "the index cannot be made; the reason is in the server's log"}
	}
	d.mu.Lock()
	d.indexes[name] = x
	d.mu.Unlock()
	d.log.Info("an index was made", "index", name)
	return x, nil
}

func (e *Error) of(index string) *Error {
	e.Index = index
	return e
}

func (d *Directory) make(ctx context.Context, name string, m meta) (*Index, error) {
	settings, err := m.settings()
	if err != nil {
		return nil, err
	}
	ix, err := griffin.Create(filepath.Join(d.dir, name), settings, d.options.Index)
	if err != nil {
		return nil, err
	}
	if err := d.writeMeta(name, m); err != nil {
		return nil, errors.Join(err, ix.Close())
	}
	return d.begin(ctx, name, m, ix)
}

func (d *Directory) metaFile(name string) string {
	return filepath.Join(d.dir, MetaFolder, name+".json")
}

// writeMeta replaces the file of an index that is being made, or whose changing is held.
func (d *Directory) writeMeta(name string, m meta) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	next := d.metaFile(name) + ".new"
	if err := vfs.WriteFile(vfs.OS, next, append(text, '\n')); err != nil {
		return err
	}
	if err := vfs.OS.Rename(next, d.metaFile(name)); err != nil {
		return err
	}
	return vfs.OS.SyncDir(filepath.Join(d.dir, MetaFolder))
}

func (d *Directory) open(ctx context.Context, name string) (*Index, error) {
	ix, err := griffin.Open(filepath.Join(d.dir, name), d.options.Index)
	if err != nil {
		return nil, err
	}
	m, err := d.readMeta(name, ix)
	if err != nil {
		return nil, errors.Join(err, ix.Close())
	}
	return d.begin(ctx, name, m, ix)
}

// readMeta describes an index that another program made by its content.
func (d *Directory) readMeta(name string, ix *griffin.Index) (meta, error) {
	stats, err := ix.Stats()
	if err != nil {
		return meta{}, err
	}
	var m meta
	text, err := os.ReadFile(d.metaFile(name))
	switch {
	case err == nil:
		if err := json.Unmarshal(text, &m); err != nil {
			return m, fmt.Errorf("%s: %w: %w", d.metaFile(name), err, griffin.ErrCorrupt)
		}
	case errors.Is(err, fs.ErrNotExist):
		m = meta{UUID: newID(), Created: time.Now().UTC()}
	default:
		return m, err
	}
	m.Analyzer, m.Analysis = stats.Analyzer, stats.Analysis // the index decides
	if m.Analysis != nil {
		if m.analysis, err = analysis.ParseSettings(m.Analysis, nil); err != nil {
			return m, err
		}
	}
	m.fields, err = fieldsOf(ix.Mapping())
	return m, err
}

// begin takes over ix.
func (d *Directory) begin(ctx context.Context, name string, m meta, ix *griffin.Index) (*Index, error) {
	o, err := m.writer()
	if err != nil {
		return nil, errors.Join(err, ix.Close())
	}
	o.MemoryBytes, o.MergeBytesPerSecond = d.options.WriterMemory, d.options.MergeBytesPerSecond
	o.OnError = func(err error) {
		d.log.Error("work in the background failed and is repeated", "index", name, "error", err)
	}
	w, err := ix.Writer(ctx, o)
	if err != nil {
		return nil, errors.Join(err, ix.Close())
	}
	x := &Index{name: name, ix: ix, writer: w, refresh: refresher{writer: w}}
	x.refresh.interval.Store(int64(refreshWait(o.RefreshInterval)))
	x.now.Store(&m)
	x.refreshFields() // the log can declare fields
	return x, nil
}

// remove deletes an index with its files.
func (d *Directory) remove(ctx context.Context, name string) *Error {
	ctx = context.WithoutCancel(ctx)
	d.making.Lock()
	defer d.making.Unlock()
	d.mu.Lock()
	x := d.indexes[name]
	if d.closed {
		x = nil
	}
	delete(d.indexes, name)
	d.mu.Unlock()
	if x == nil {
		return indexNotFound(name)
	}
	if err := x.close(ctx); err != nil {
		d.log.Warn("a deleted index did not close cleanly", "index", name, "error", err)
	}
	x.changing.Lock() // later changes find that the index is gone
	trash := filepath.Join(d.dir, deletedPrefix+newID())
	err := os.Rename(filepath.Join(d.dir, name), trash)
	if err == nil || errors.Is(err, fs.ErrNotExist) { // another program has removed it
		err = errors.Join(os.RemoveAll(d.metaFile(name)), os.RemoveAll(trash))
	}
	x.changing.Unlock()
	if err != nil {
		d.log.Error("a deleted index cannot be removed", "index", name, "error", err)
		return &Error{Status: http.StatusInternalServerError, Type: "exception", Index: name, Reason: "the files of the index cannot be removed; the reason is in the server's log"}
	}
	d.log.Info("an index was deleted", "index", name)
	return nil
}

// Close flushes and closes all indexes. Later requests fail.
func (d *Directory) Close(ctx context.Context) error {
	d.making.Lock()
	defer d.making.Unlock()
	d.mu.Lock()
	d.closed = true
	all := slices.Collect(maps.Values(d.indexes))
	d.mu.Unlock()
	var err error
	for _, x := range all {
		err = errors.Join(err, x.close(ctx))
	}
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
		d.lock = nil
	}
	return err
}

// newID returns 20 random letters, as OpenSearch's are.
func newID() string {
	var b [15]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// reserved are paths of the server.
var reserved = []string{"search", "document", "healthz", "metrics", "icon.svg"}

// checkName: the rules of OpenSearch, and no paths of the server.
func checkName(name string) *Error {
	reason := ""
	switch {
	case name == "" || len(name) > 255:
		reason = "must have 1 to 255 bytes"
	case strings.ContainsAny(name, " \"*\\<|,>/?#:") || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }):
		reason = "must not contain the characters [ , \", *, \\, <, |, ,, >, /, ?, #, :]"
	case strings.ContainsRune("_-+.", rune(name[0])):
		reason = "must not start with '_', '-', '+' or '.'"
	case strings.ToLower(name) != name:
		reason = "must be lowercase"
	case slices.Contains(reserved, name):
		reason = "is an address of this server"
	default:
		return nil
	}
	return badRequest("invalid_index_name_exception", "Invalid index name [%s], %s", name, reason).of(name)
}
