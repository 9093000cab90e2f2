package fastpath

import (
	_ "embed"
	"errors"
	"math"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/score"
)

var (
	//go:embed image/fastpath.ptx
	searchImage []byte
	//go:embed image/fastpath_build.ptx
	buildImage []byte
)

// Kernels are the fast path's kernels on one device. Safe for concurrent use.
type Kernels struct {
	device  *cuda.Device
	modules []*cuda.Module

	// Top k by ranges, by the postings of the shortest list, and counts; one and few
	// are for a query that travels with the launch.
	ranges, probe, count           *cuda.Kernel
	rangesOne, rangesFew, probeOne *cuda.Kernel
	fill                           *cuda.Kernel // of Build
	maxWindow                      int          // superblocks that a block sorts at a time
	shared                         int          // dynamic shared memory that a block of any may have
	// How many blocks run at a time: of batches, and of a single query.
	resident, residentOne int
}

// Load loads the kernels on a device.
func Load(d *cuda.Device) (*Kernels, error) {
	k := &Kernels{device: d, maxWindow: maxWindow}
	if err := k.load(); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

func (k *Kernels) load() error {
	search, err := k.module("fastpath", searchImage)
	if err != nil {
		return err
	}
	build, err := k.module("fastpath_build", buildImage)
	if err != nil {
		return err
	}
	for _, e := range []struct {
		kernel **cuda.Kernel
		module *cuda.Module
		name   string
		load   func(*cuda.Module, string) (*cuda.Kernel, error)
	}{
		{&k.ranges, search, "fastpath_ranges", cuda.LoadKernel[searchParams]},
		{&k.probe, search, "fastpath_probe", cuda.LoadKernel[searchParams]},
		{&k.count, search, "fastpath_count", cuda.LoadKernel[searchParams]},
		{&k.rangesOne, search, "fastpath_ranges_one", cuda.LoadKernel[oneParams]},
		{&k.rangesFew, search, "fastpath_ranges_few", cuda.LoadKernel[fewParams]},
		{&k.probeOne, search, "fastpath_probe_one", cuda.LoadKernel[oneParams]},
		{&k.fill, build, "fastpath_build", cuda.LoadKernel[buildParams]},
	} {
		if *e.kernel, err = e.load(e.module, e.name); err != nil {
			return err
		}
	}
	k.shared = math.MaxInt
	for _, kernel := range []*cuda.Kernel{k.ranges, k.probe, k.count, k.rangesOne, k.rangesFew, k.probeOne} {
		k.shared = min(k.shared, k.device.Info().MaxSharedBytes-kernel.SharedBytes())
	}
	shared := sharedBytes(8, 64, capacity(10))
	for _, e := range []struct {
		kernel *cuda.Kernel
		blocks *int
	}{{k.ranges, &k.resident}, {k.rangesOne, &k.residentOne}} {
		n, err := e.kernel.BlocksPerMultiprocessor(threads, shared)
		if err != nil {
			return err
		}
		*e.blocks = max(n*k.device.Info().Multiprocessors, 1)
	}
	return nil
}

func (k *Kernels) module(name string, image []byte) (*cuda.Module, error) {
	m, err := k.device.LoadModule(name, image)
	if err == nil {
		k.modules = append(k.modules, m)
	}
	return m, err
}

// Close unloads the kernels, which must not run any more.
func (k *Kernels) Close() error {
	var errs []error
	for _, m := range k.modules {
		errs = append(errs, m.Unload())
	}
	k.modules = nil
	return errors.Join(errs...)
}

// Build makes the image of a list at the start of data (SizeBytes bytes, aligned to
// 128), in the order of the stream. docIDs, rising, and freqs, each at least 1, hold
// shape.DocFreq postings; lengths are those of all documents, not read if the
// Saturation is linear. All but data are only needed until the work is done.
//
// The bytes are those of Encode, but for the places of long frequencies in their
// hash table. Errors wrap base.ErrBadInput or are the device's.
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

// saturation returns K's parts of BM25 as float32, and how many 8-bit steps a
// saturation of 1 is, with the error of the arithmetic that uses them added.
func (s *Shape) saturation() (c0, c1, perUnit float32) {
	if s.Saturation.Linear {
		return 0, 0, 0
	}
	avg := s.Saturation.AvgLen
	if !(avg > 0) {
		avg = 1
	}
	k1, b := float64(s.Saturation.K1), float64(s.Saturation.B)
	// A step of 2^-24 in each of six operations is less than 2^-20.
	const slack = 1 + 1.0/(1<<20)
	perUnit = float32(float64(score.MaxBound) / float64(s.Max) * math.MaxUint8 * slack)
	return float32(k1 * (1 - b)), float32(k1 * b / avg), perUnit
}
