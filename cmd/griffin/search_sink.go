package main

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/corpus"
)

// defaultWriterMemory is for documents that are not in a segment yet.
const defaultWriterMemory = 256 << 20

// sink takes writes.
type sink interface {
	// apply makes the writes durable, as griffin.Writer.Apply does. With an error there can be results: those that have
	// an Outcome or an Err other than griffin.ErrBusy are final.
	apply(ctx context.Context, writes []griffin.Write) ([]griffin.WriteResult, error)
	// close commits the applied writes.
	close(ctx context.Context) error
}

// maxFullWait is how long a command waits for space on a disk, or for permission to write.
const maxFullWait = 10 * time.Second

// applyPatiently repeats writes for which there is no room in memory yet, and no others. With an error it also returns
// the results until then; those without Outcome and Err were not acknowledged.
func applyPatiently(ctx context.Context, s sink, writes []griffin.Write) ([]griffin.WriteResult, error) {
	results := make([]griffin.WriteResult, len(writes))
	left := make([]int, len(writes))
	for i := range left {
		left[i] = i
	}
	var refused time.Time // since when the disk takes no writes
	for {
		part := writes
		if len(left) < len(writes) {
			part = make([]griffin.Write, len(left))
			for i, at := range left {
				part[i] = writes[at]
			}
		}
		answers, err := s.apply(ctx, part)
		if err == nil {
			for i := range answers {
				results[left[i]] = answers[i]
			}
			return results, nil
		}
		left = settle(results, left, answers, writes)
		switch {
		case !errors.Is(err, griffin.ErrBusy):
			return results, err
		case len(left) == 0 && len(writes) > 0:
			return results, nil
		case !diskRefuses(err):
			refused = time.Time{}
		case refused.IsZero():
			refused = time.Now()
		case time.Since(refused) >= maxFullWait:
			return results, err
		}
		select {
		case <-ctx.Done():
			return results, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// settle stores the answers to the writes at the places of left, and returns the places that are left. A write that was
// refused, before a write of the same id that was not, would undo that one when it is repeated: it counts as replaced.
func settle(results []griffin.WriteResult, left []int, answers []griffin.WriteResult, writes []griffin.Write) []int {
	again := []int{}
	latest := map[string]int{} // places of those that were written
	for i, at := range left {
		if i >= len(answers) || answers[i].Outcome == griffin.WriteFailed && (answers[i].Err == nil || errors.Is(answers[i].Err, griffin.ErrBusy)) {
			again = append(again, at)
			continue
		}
		results[at] = answers[i]
		if answers[i].Err == nil {
			latest[writes[at].Document.ID] = at
		}
	}
	return slices.DeleteFunc(again, func(at int) bool {
		later, written := latest[writes[at].Document.ID]
		if !written || later < at {
			return false
		}
		r := &results[later] // without Err
		if results[at] = *r; r.Outcome == griffin.WriteCreated {
			r.Outcome = griffin.WriteUpdated // the first of the two made the document
		}
		return true
	})
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
