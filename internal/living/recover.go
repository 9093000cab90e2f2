package living

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/wal"
)

// Recover commits the acknowledged writes that a Store left in the log because its process ended. A
// writer without a log calls it first, so that its changes come later. Errors are as for
// Open.
func Recover(ctx context.Context, fsys vfs.FS, ix *index.Index) error {
	dir := filepath.Join(ix.Dir(), index.LogName)
	if _, err := fsys.Stat(dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if _, err := ix.Refresh(); err != nil {
		return err
	}
	log, err := wal.Open(fsys, dir, wal.Options{After: wal.Seq(ix.Seq())})
	if err != nil {
		return err
	}
	last := log.Found()
	if err := log.Close(); err != nil || uint64(last) <= ix.Seq() {
		return err
	}
	s, err := Open(ctx, fsys, ix, Options{RefreshInterval: -1})
	if err != nil {
		return err
	}
	return s.Close(ctx)
}

// Waiting counts the writes that the log of an index has and its last commit has not: writes of a
// running process, or of one that ended without a commit. It takes no lock, and a process that
// writes meanwhile changes the count.
func Waiting(fsys vfs.FS, ix *index.Index) (n int, err error) {
	after := wal.Seq(ix.Seq())
	_, err = wal.Scan(fsys, filepath.Join(ix.Dir(), index.LogName), after+1, func(wal.Entry) error {
		n++
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) { // there is no log, or the process shortens it
		return 0, nil
	}
	return n, err
}

// replayBytes is Options.MemoryBytes during a replay, at least: nobody waits for a refresh, and larger
// batches take less work. Tests change it.
var replayBytes int64 = 128 << 20

func (s *Store) memoryBytes() int64 {
	if s.replaying.Load() {
		return max(s.opts.MemoryBytes, replayBytes)
	}
	return s.opts.MemoryBytes
}

// replay makes the records visible that neither a commit nor the checkpoint has.
func (s *Store) replay(ctx context.Context) error {
	s.replaying.Store(true)
	defer s.replaying.Store(false)
	err := s.log.Replay(wal.Seq(s.flushed+1), func(r wal.Entry) error {
		var err error
		if uint64(r.Seq) <= s.adopted {
			s.mu.Lock()
			err = s.versions.replay(&r)
			s.mu.Unlock()
		} else {
			err = s.replayWrite(ctx, &r)
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", r.Seq, err)
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return s.Refresh(ctx)
}

// replay keeps the version of a deleted document, which segments do not have.
func (v *versions) replay(r *wal.Entry) error {
	_, kind, payload, err := cutFields(r.Type, r.Payload) // the checkpoint has the fields
	if err != nil || kind == 0 {
		return err
	}
	number, id, err := decodeID(kind, payload)
	switch {
	case err != nil:
		return err
	case r.Type == recordDelete:
		v.deleted.add(string(id), segment.Version{Seq: uint64(r.Seq), Number: number}, time.Now())
	default:
		delete(v.deleted.versions, string(id))
	}
	return nil
}

func (s *Store) replayWrite(ctx context.Context, r *wal.Entry) error {
	it, next, err := s.fields.redo(r)
	if err != nil {
		return err
	}
	s.use(next)
	if err := s.room(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enqueue(it)
	return nil
}

// superseded reports whether the log has a later write of the id of an item. While it is replayed, only
// the last one needs to be indexed.
func superseded(s *Store, it *item) bool {
	if !s.replaying.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, ok := s.versions.find(it.id)
	return ok && now.version.Seq != it.state.version.Seq
}
