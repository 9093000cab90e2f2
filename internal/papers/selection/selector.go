package selection

import (
	"embed"
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

//go:embed image/*.ptx.zst
var images embed.FS

// ErrShape means that buffers are too short, or that k is greater than MaxK: a
// bug of the caller.
var ErrShape = errors.New("selection: buffers do not fit")

// Method is a selection method on the device.
type Method uint8

// The methods (package comment).
const (
	Top Method = iota
	Heap
	Bucket
	Radix
	numMethods
)

// Methods lists all methods.
func Methods() []Method { return []Method{Top, Heap, Bucket, Radix} }

// String returns the method's name.
func (m Method) String() string {
	if m >= numMethods {
		return fmt.Sprintf("Method(%d)", uint8(m))
	}
	return [...]string{"top", "heap", "bucket", "radix"}[m]
}

// Selector has the kernels of this package on one device.
type Selector struct {
	device          *cuda.Device
	multiprocessors int
	modules         []*cuda.Module

	heapLevel, heapExtract                                     *cuda.Kernel
	bucket, bucketWide                                         bucketKernels
	radixKeys, radixCount, radixScan, radixScatter, radixFirst *cuda.Kernel
	topMaxima, topGather, one, arrays                          *cuda.Kernel
	count, countWide                                           *cuda.Kernel
}

type bucketKernels struct{ limits, count, gather, sort *cuda.Kernel }

// New loads the kernels.
func New(d *cuda.Device) (*Selector, error) {
	s := &Selector{device: d, multiprocessors: d.Info().Multiprocessors}
	if err := s.load(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close unloads the kernels, which must not be running.
func (s *Selector) Close() error {
	var errs []error
	for _, m := range s.modules {
		errs = append(errs, m.Unload())
	}
	s.modules = nil
	return errors.Join(errs...)
}

func (s *Selector) load() error {
	l := loader{s: s, modules: map[string]*cuda.Module{}}
	loadKernel[heapLevelParams](&l, &s.heapLevel, "heap", "heap_level")
	loadKernel[heapExtractParams](&l, &s.heapExtract, "heap", "heap_extract")
	for suffix, b := range map[string]*bucketKernels{"": &s.bucket, "_wide": &s.bucketWide} {
		loadKernel[bucketParams](&l, &b.limits, "bucket", "bucket_range"+suffix)
		loadKernel[bucketParams](&l, &b.count, "bucket", "bucket_count"+suffix)
		loadKernel[bucketParams](&l, &b.gather, "bucket", "bucket_gather"+suffix)
		loadKernel[bucketParams](&l, &b.sort, "bucket", "bucket_sort"+suffix)
	}
	loadKernel[radixParams](&l, &s.radixKeys, "radix", "radix_keys")
	loadKernel[radixParams](&l, &s.radixCount, "radix", "radix_count")
	loadKernel[radixParams](&l, &s.radixScan, "radix", "radix_scan")
	loadKernel[radixParams](&l, &s.radixScatter, "radix", "radix_scatter")
	loadKernel[radixParams](&l, &s.radixFirst, "radix", "radix_first")
	loadKernel[topParams](&l, &s.topMaxima, "top", "top_maxima")
	loadKernel[topParams](&l, &s.topGather, "top", "top_gather")
	loadKernel[oneParams](&l, &s.one, "top", "one")
	loadKernel[arraysParams](&l, &s.arrays, "top", "arrays")
	loadKernel[countParams](&l, &s.count, "count", "count")
	loadKernel[countParams](&l, &s.countWide, "count", "count_wide")
	return l.err
}

type loader struct {
	s       *Selector
	modules map[string]*cuda.Module
	err     error
}

func loadKernel[P any](l *loader, to **cuda.Kernel, image, name string) {
	if l.err != nil {
		return
	}
	m := l.modules[image]
	if m == nil {
		code, err := images.ReadFile("image/selection_" + image + ".ptx.zst")
		if err != nil {
			l.err = fmt.Errorf("selection: %w", err)
			return
		}
		if m, l.err = l.s.device.LoadImage("selection_"+image, code); l.err != nil {
			return
		}
		l.modules[image] = m
		l.s.modules = append(l.s.modules, m)
	}
	*to, l.err = cuda.LoadKernel[P](m, "selection_"+name)
}

// Select enqueues writing the best k, at most MaxK, of a source to out[0, k) in
// descending order, padded with 0.
func (s *Selector) Select(st *cuda.Stream, m Method, source Source[uint32], k int, out cuda.Buffer[Key], scratch *Scratch) error {
	array, err := source.array()
	if err != nil {
		return err
	}
	if err := scratch.check(m, int(array.maxScores), k, out.Len()); err != nil || k == 0 {
		return err
	}
	switch m {
	case Top:
		return s.top(st, array, k, out, scratch)
	case Heap:
		return s.heap(st, array, k, out, scratch)
	case Bucket:
		return s.bucketSelect(st, &s.bucket, array, k, uint64(out.Ptr()), scratch, keyBytes)
	case Radix:
		return s.radixSort(st, array, k, out, scratch)
	}
	return fmt.Errorf("%v: %w", m, ErrShape)
}

// Wide is Select for wide sums, by bucket select.
func (s *Selector) Wide(st *cuda.Stream, source Source[uint64], k int, out cuda.Buffer[WideKey], scratch *Scratch) error {
	array, err := source.array()
	if err != nil {
		return err
	}
	if err := scratch.check(Bucket, int(array.maxScores), k, out.Len()); err != nil || k == 0 {
		return err
	}
	if uint64(out.Ptr())%wideKeyBytes != 0 {
		return fmt.Errorf("wide keys at %#x: %w", out.Ptr(), ErrShape)
	}
	return s.bucketSelect(st, &s.bucketWide, array, k, uint64(out.Ptr()), scratch, wideKeyBytes)
}

type countParams struct {
	source Array
	count  cuda.Ptr[uint32]
}

// Count enqueues adding the number of hits to *count.
func (s *Selector) Count(st *cuda.Stream, source Source[uint32], count cuda.Buffer[uint32]) error {
	return countHits(s, st, s.count, &source, count)
}

// CountWide is Count for wide sums.
func (s *Selector) CountWide(st *cuda.Stream, source Source[uint64], count cuda.Buffer[uint32]) error {
	return countHits(s, st, s.countWide, &source, count)
}

func countHits[S Score](s *Selector, st *cuda.Stream, kernel *cuda.Kernel, source *Source[S], count cuda.Buffer[uint32]) error {
	array, err := source.array()
	if err != nil {
		return err
	}
	if count.Len() == 0 {
		return fmt.Errorf("no room for the count: %w", ErrShape)
	}
	p := countParams{source: array, count: count.Ptr()}
	return cuda.Launch(st, kernel, cuda.D1(s.blocks(int(array.maxScores), countThreads, countBlocks)), cuda.D1(countThreads), 0, &p)
}

// blocks returns the number of blocks for n elements, limited to
// perMultiprocessor on each multiprocessor.
func (s *Selector) blocks(n, threads, perMultiprocessor int) int {
	return max(1, min(s.multiprocessors*perMultiprocessor, (n+threads-1)/threads))
}
