package imagesearch

import (
	_ "embed"
	"errors"
	"math"
	"sync"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/score"
)

var (
	//go:embed image/imagesearch.ptx.zst
	searchImage []byte
	//go:embed image/imagesearch_build.ptx.zst
	buildImage []byte
	//go:embed image/imagesearch_wide.ptx.zst
	wideImage []byte
	//go:embed image/imagesearch_words.ptx.zst
	wordsImage []byte
	//go:embed image/imagesearch_filtered.ptx.zst
	filteredImage []byte
	//go:embed image/imagesearch_compact.ptx.zst
	compactImage []byte
	//go:embed image/imagesearch_band.ptx.zst
	bandImages []byte
)

// Kernels are this package's kernels on one device. Safe for concurrent use.
type Kernels struct {
	device  *cuda.Device
	loading sync.Mutex // guards modules
	modules []*cuda.Module

	// Top k by ranges, by the postings of the shortest list, and counts. One and Few have the
	// query in their parameters.
	ranges, probe, count           *cuda.Kernel
	rangesOne, rangesFew, probeOne *cuda.Kernel
	fill                           *cuda.Kernel // of Build
	maxWindow                      int          // superblocks that a block sorts at a time
	shared                         int          // maximum dynamic shared memory of a block, for all kernels
	// Blocks that can run at the same time: for batches, and for a single query.
	resident, residentOne int
	stays                 stayKernel

	// Of wide queries, of queries with Parts, of others with a filter, and of others with packed lists. The first query loads wides and parts: the
	// driver compiles slowly.
	variants variants
	passes   passKernels

	// The kernels of Tally, guarded by loadTally.
	loadTally sync.Once
	tallied   *tallyKernels
	tallyErr  error
}

// Load loads the kernels; Batch.Add loads the kernels of wide queries, and of those with Parts.
func Load(d *cuda.Device) (*Kernels, error) {
	k := &Kernels{device: d, maxWindow: maxWindow}
	k.passes.unit = bandUnit
	var others sync.WaitGroup
	others.Go(func() { _ = k.filters() }) // beside the others: a driver compiles them in seconds
	others.Go(func() { _ = k.compact() })
	others.Go(func() { _ = k.bands() })
	err := k.load()
	others.Wait()
	if err = errors.Join(err, k.filters(), k.compact(), k.bands()); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

func (k *Kernels) load() error {
	search, err := k.module("imagesearch", searchImage)
	if err != nil {
		return err
	}
	build, err := k.module("imagesearch_build", buildImage)
	if err != nil {
		return err
	}
	if err := errors.Join(
		loadEntries(search,
			entry{&k.ranges, "imagesearch_ranges", cuda.LoadKernel[searchParams]},
			entry{&k.probe, "imagesearch_probe", cuda.LoadKernel[searchParams]},
			entry{&k.count, "imagesearch_count", cuda.LoadKernel[searchParams]},
			entry{&k.rangesOne, "imagesearch_ranges_one", cuda.LoadKernel[oneParams]},
			entry{&k.rangesFew, "imagesearch_ranges_few", cuda.LoadKernel[fewParams]},
			entry{&k.stays.kernel, "imagesearch_ranges_stay", cuda.LoadKernel[stayParams]},
			entry{&k.probeOne, "imagesearch_probe_one", cuda.LoadKernel[oneParams]}),
		loadEntries(build, entry{&k.fill, "imagesearch_build", cuda.LoadKernel[buildParams]}),
	); err != nil {
		return err
	}
	k.shared = math.MaxInt
	for _, kernel := range []*cuda.Kernel{k.ranges, k.probe, k.count, k.rangesOne, k.rangesFew, k.stays.kernel, k.probeOne} {
		k.shared = min(k.shared, k.device.Info().MaxSharedBytes-kernel.SharedBytes())
	}
	shared := sharedBytes(8, 64, capacity(10))
	for _, e := range []struct {
		kernel *cuda.Kernel
		blocks *int
	}{{k.ranges, &k.resident}, {k.rangesOne, &k.residentOne}, {k.stays.kernel, &k.stays.blocks}} {
		n, err := e.kernel.BlocksPerMultiprocessor(threads, shared)
		if err != nil {
			return err
		}
		*e.blocks = max(n*k.device.Info().Multiprocessors, 1)
	}
	return nil
}

// An entry is a kernel of a module, with the loader of its parameters' type.
type entry struct {
	kernel **cuda.Kernel
	name   string
	load   func(*cuda.Module, string) (*cuda.Kernel, error)
}

func loadEntries(m *cuda.Module, entries ...entry) (err error) {
	for _, e := range entries {
		if *e.kernel, err = e.load(m, e.name); err != nil {
			return err
		}
	}
	return nil
}

// variantKernels are kernels of a module for some queries, loaded once. Kernels without a variant are nil.
type variantKernels struct {
	once                 sync.Once
	ranges, probe, count *cuda.Kernel
	rangesOne, rangesFew *cuda.Kernel
	probeOne             *cuda.Kernel
	err                  error
}

func (r *variantKernels) load(k *Kernels, name string, image []byte, entries ...entry) error {
	r.once.Do(func() {
		var m *cuda.Module
		if m, r.err = k.module(name, image); r.err == nil {
			r.err = loadEntries(m, entries...)
		}
	})
	return r.err
}

func (k *Kernels) wide() error {
	r := &k.variants.wides
	return r.load(k, "imagesearch_wide", wideImage,
		entry{&r.ranges, "imagesearch_ranges_wide", cuda.LoadKernel[searchParams]},
		entry{&r.probe, "imagesearch_probe_wide", cuda.LoadKernel[searchParams]})
}

func (k *Kernels) words() error {
	r := &k.variants.parts
	return r.load(k, "imagesearch_words", wordsImage,
		entry{&r.ranges, "imagesearch_ranges_words", cuda.LoadKernel[searchParams]},
		entry{&r.probe, "imagesearch_probe_words", cuda.LoadKernel[searchParams]},
		entry{&r.count, "imagesearch_count_words", cuda.LoadKernel[searchParams]})
}

func (k *Kernels) filters() error {
	r := &k.variants.filtered
	return r.load(k, "imagesearch_filtered", filteredImage,
		entry{&r.ranges, "imagesearch_ranges_filtered", cuda.LoadKernel[searchParams]},
		entry{&r.rangesOne, "imagesearch_ranges_one_filtered", cuda.LoadKernel[oneParams]},
		entry{&r.rangesFew, "imagesearch_ranges_few_filtered", cuda.LoadKernel[fewParams]})
}

func (k *Kernels) compact() error {
	r := &k.variants.compact
	return r.load(k, "imagesearch_compact", compactImage,
		entry{&r.ranges, "imagesearch_ranges_compact", cuda.LoadKernel[searchParams]},
		entry{&r.probe, "imagesearch_probe_compact", cuda.LoadKernel[searchParams]},
		entry{&r.count, "imagesearch_count_compact", cuda.LoadKernel[searchParams]},
		entry{&r.rangesOne, "imagesearch_ranges_one_compact", cuda.LoadKernel[oneParams]},
		entry{&r.rangesFew, "imagesearch_ranges_few_compact", cuda.LoadKernel[fewParams]},
		entry{&r.probeOne, "imagesearch_probe_one_compact", cuda.LoadKernel[oneParams]})
}

// variants are the kernels of some queries.
type variants struct {
	wides, parts, filtered, compact variantKernels
}

// passKernels are the kernels of a Pass.
type passKernels struct {
	unit         int // of bands, in superblocks; other than bandUnit in tests
	once         sync.Once
	fill, search *cuda.Kernel
	err          error
}

func (k *Kernels) bands() error {
	r := &k.passes
	r.once.Do(func() {
		var m *cuda.Module
		if m, r.err = k.module("imagesearch_band", bandImages); r.err == nil {
			r.err = loadEntries(m,
				entry{&r.fill, "imagesearch_band_fill", cuda.LoadKernel[fillParams]},
				entry{&r.search, "imagesearch_band_search", cuda.LoadKernel[bandSearchParams]})
		}
	})
	return r.err
}

func (k *Kernels) module(name string, image []byte) (*cuda.Module, error) {
	base := searchImage
	if name == "imagesearch" {
		base = nil
	}
	m, err := k.device.LoadVariant(name, image, base)
	if err == nil {
		k.loading.Lock()
		defer k.loading.Unlock()
		k.modules = append(k.modules, m)
	}
	return m, err
}

// Close unloads the kernels, which must not be running.
func (k *Kernels) Close() error {
	var errs []error
	for _, m := range k.modules {
		errs = append(errs, m.Unload())
	}
	k.modules = nil
	return errors.Join(errs...)
}

// Build writes the image of a list to the start of data (SizeBytes bytes, aligned to 128), in
// stream order. docIDs, rising, and freqs, each at least 1, hold shape.DocFreq postings,
// lengths the lengths of all documents (not read if the Saturation is linear). The inputs are
// needed until the kernel has ended.
//
// Encode writes the same bytes, except for the slots of long frequencies. Errors wrap
// base.ErrBadInput or are the device's.
func (k *Kernels) Build(s *cuda.Stream, data cuda.Buffer[byte], shape Shape, docIDs, freqs, lengths cuda.Buffer[uint32]) (Image, error) {
	m, err := NewImage(data, shape)
	if err != nil {
		return Image{}, err
	}
	if err := shape.checkPostings(docIDs.Len(), freqs.Len(), lengths.Len()); err != nil {
		return Image{}, err
	}
	if shape.escapes() > 0 {
		from := int(m.term.escapes) * layoutUnit
		if err := cuda.Fill(s, data.Slice(from, from+shape.escapes()*8), 0); err != nil {
			return Image{}, err
		}
	}
	p := buildParams{
		docIDs: docIDs.Ptr(), freqs: freqs.Ptr(), lengths: lengths.Ptr(),
		term: m.term, numDocs: uint32(shape.NumDocs), max: uint32(shape.Max),
	}
	p.c0, p.c1, p.perUnit = shape.saturation()
	if shape.Saturation.Linear {
		p.linear = 1
	}
	grid := cuda.D1(numSupers(shape.NumDocs))
	return m, cuda.Launch(s, k.fill, grid, cuda.D1(superRanges), 0, &p)
}

// saturation returns BM25's K = c0 + c1*length as float32, and the number of 8-bit steps of a
// saturation of 1, increased by the rounding error of the arithmetic.
func (s *Shape) saturation() (c0, c1, perUnit float32) {
	if s.Saturation.Linear {
		return 0, 0, 0
	}
	avg := s.Saturation.AvgLen
	if !(avg > 0) {
		avg = 1
	}
	k1, b := float64(s.Saturation.K1), float64(s.Saturation.B)
	// Six operations with a relative error of 2^-24 each.
	const slack = 1 + 1.0/(1<<20)
	perUnit = float32(float64(score.MaxBound) / float64(s.Max) * math.MaxUint8 * slack)
	return float32(k1 * (1 - b)), float32(k1 * b / avg), perUnit
}
