package main

import (
	"context"
	"errors"
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

// applyPatiently repeats writes for which there is no room yet.
func applyPatiently(ctx context.Context, s sink, writes []griffin.Write) ([]griffin.WriteResult, error) {
	for {
		results, err := s.apply(ctx, writes)
		if !errors.Is(err, griffin.ErrBusy) {
			return results, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
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
	return corpus.Options{Weights: weights != 0}
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
