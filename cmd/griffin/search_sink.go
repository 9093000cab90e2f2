package main

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/corpus"
)

// defaultWriterMemory is for documents that are not in a segment yet.
const defaultWriterMemory = 256 << 20

// sink takes writes.
type sink interface {
	// apply makes the writes durable, as griffin.Writer.Apply does.
	apply(ctx context.Context, writes []griffin.Write) ([]griffin.WriteResult, error)
	// close commits what was applied.
	close(ctx context.Context) error
}

// maxFullWait is how long a command waits for space on a disk, or for permission to write.
const maxFullWait = 10 * time.Second

// applyPatiently repeats writes for which there is no room in memory yet.
func applyPatiently(ctx context.Context, s sink, writes []griffin.Write) ([]griffin.WriteResult, error) {
	var refused time.Time // since when the disk takes no writes
	for {
		results, err := s.apply(ctx, writes)
		if !errors.Is(err, griffin.ErrBusy) {
			return results, err
		}
		switch {
		case !diskRefuses(err):
			refused = time.Time{}
		case refused.IsZero():
			refused = time.Now()
		case time.Since(refused) >= maxFullWait:
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func diskRefuses(err error) bool {
	answer := (*serverError)(nil)
	return errors.Is(err, griffin.ErrFull) || errors.Is(err, griffin.ErrReadOnly) || errors.Is(err, griffin.ErrDenied) || errors.As(err, &answer) && answer.Type == typeBlocked
}

// refusedByDisk is the error of a command, which ends: only servers go on by themselves.
type refusedByDisk struct {
	error
	text string
}

func (e refusedByDisk) Error() string { return e.text }

func (e refusedByDisk) Unwrap() error { return e.error }

// ofDisk adds a hint to the error of a disk that takes no writes.
func ofDisk(dir string, err error) error {
	switch {
	case errors.Is(err, griffin.ErrFull), errors.Is(err, syscall.ENOSPC):
		return hintedError{refusedByDisk{err, dir + ": the disk is full"}, "free space on the disk and run the command again"}
	case errors.Is(err, griffin.ErrReadOnly), errors.Is(err, syscall.EROFS):
		return hintedError{refusedByDisk{err, dir + ": the file system is read-only"}, "make it writable and run the command again"}
	case errors.Is(err, fs.ErrPermission):
		text := dir + ": permission denied"
		if at := (*fs.PathError)(nil); errors.As(err, &at) {
			text = at.Path + ": permission denied"
		}
		return hintedError{refusedByDisk{err, text}, "change the owner or mode of the file or folder and run the command again"}
	}
	return err
}

// indexSink writes to an index in a folder. It takes the write lock at the first write.
type indexSink struct {
	index  *griffin.Index
	memory int64
	fields []string        // to declare before the first write
	writer *griffin.Writer // nil before the first write
	last   griffin.Stats   // of the index when it was closed
}

var _ sink = (*indexSink)(nil)

// input returns the options of a corpus that depend on the settings of the index.
func (s *indexSink) input(o *indexOptions) corpus.Options {
	weights := o.weights
	if now, err := s.index.Stats(); err == nil && now.Generation > 0 {
		weights = now.WeightScale
	}
	in := corpus.Options{Weights: weights != 0}
	if weights == 0 {
		in.Mapped = mappedBy(s.index.Mapping())
	}
	return in
}

func (s *indexSink) open(ctx context.Context) (err error) {
	if s.writer == nil {
		s.writer, err = s.index.Writer(ctx, griffin.WriterOptions{MemoryBytes: s.memory, RefreshInterval: -1})
		if err == nil && len(s.fields) > 0 {
			err = badFlags(s.writer.AddFields(ctx, s.fields...))
		}
	}
	return err
}

func (s *indexSink) apply(ctx context.Context, writes []griffin.Write) ([]griffin.WriteResult, error) {
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	return s.writer.Apply(ctx, writes...)
}

func (s *indexSink) close(ctx context.Context) error {
	var err, statsErr error
	if s.writer != nil {
		err = s.writer.Close(ctx)
	}
	s.last, statsErr = s.index.Stats()
	return errors.Join(err, statsErr, s.index.Close())
}
