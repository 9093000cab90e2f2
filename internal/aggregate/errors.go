package aggregate

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// ErrTooManyBuckets means that an answer would have more buckets than Limits.MaxBuckets.
var ErrTooManyBuckets = fmt.Errorf("too many buckets: %w", base.ErrBadInput)

// ErrTooLarge means that a request would need more memory than Limits.MaxBytes.
var ErrTooLarge = fmt.Errorf("too much memory: %w", base.ErrBadInput)

// errorf returns an error of the parameters.
func (r *Request) errorf(format string, args ...any) error {
	return r.errorIn(r.raw, format, args...)
}

// errorIn returns an error of a part of the parameters.
func (r *Request) errorIn(raw []byte, format string, args ...any) error {
	return base.Locate(r.failed(format, args...), raw)
}

func (r *Request) failed(format string, args ...any) error {
	return fmt.Errorf("aggregation [%s] of type [%s]: %s: %w", r.Name, r.Type, fmt.Sprintf(format, args...), base.ErrBadInput)
}

// wrap adds the aggregation to an error.
func (r *Request) wrap(err error) error {
	if err == nil {
		return nil
	}
	return base.Locate(fmt.Errorf("aggregation [%s] of type [%s]: %w", r.Name, r.Type, err), r.raw)
}

// budget counts the memory and the buckets of a Run.
type budget struct {
	limits  Limits
	bytes   int64
	buckets int
}

func newBudget(l Limits) *budget {
	if l.MaxBuckets == 0 {
		l.MaxBuckets = DefaultMaxBuckets
	}
	if l.MaxBytes == 0 {
		l.MaxBytes = DefaultMaxBytes
	}
	return &budget{limits: l}
}

func (b *budget) take(r *Request, bytes int) error {
	b.bytes += int64(bytes)
	if b.bytes > b.limits.MaxBytes {
		return r.wrap(fmt.Errorf("it needs more than %d MiB: filter the documents or use composite: %w", b.limits.MaxBytes>>20, ErrTooLarge))
	}
	return nil
}

// answer counts buckets of the answer.
func (b *budget) answer(r *Request, buckets int) error {
	b.buckets += buckets
	if b.buckets > b.limits.MaxBuckets {
		return r.wrap(fmt.Errorf("trying to create too many buckets, must be less than or equal to: [%d] but was [%d]; use a greater interval or a smaller size: %w",
			b.limits.MaxBuckets, b.buckets, ErrTooManyBuckets))
	}
	return nil
}
