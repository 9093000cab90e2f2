package gputest

import (
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// On a GPU, much more than its caches hold.
const (
	copyBytes       = 1 << 30
	copyRounds      = 20
	emulatorBytes   = 1 << 14
	emulatorRounds  = 1
	copyThreads     = 512
	copyBlocksPerMP = 4
)

var (
	bandwidthMutex sync.Mutex
	bandwidths     = map[string]float64{} // by UUID
)

// CopyBandwidth returns the bandwidth of the fastest copy within device memory,
// by a kernel or the driver, in GB/s (1e9 bytes), counting bytes read and bytes
// written. It is measured once per device in about 20 ms; on the emulator the
// number means nothing.
func CopyBandwidth(t testing.TB, d *cuda.Device) float64 {
	t.Helper()
	uuid := d.Info().UUID
	bandwidthMutex.Lock()
	defer bandwidthMutex.Unlock()
	if v, ok := bandwidths[string(uuid[:])]; ok {
		return v
	}
	v := max(KernelCopyBandwidth(t, d), DriverCopyBandwidth(t, d))
	bandwidths[string(uuid[:])] = v
	return v
}

// SameCopyBandwidth is CopyBandwidth for copies that each read and write
// totalBytes in total, rounds times: the reference for a kernel that moves the
// same amount. Below about 100 MB the second-level cache keeps part of the
// data, and the time between launches matters. On the emulator, it copies a
// minimum.
func SameCopyBandwidth(t testing.TB, d *cuda.Device, totalBytes, rounds int) float64 {
	t.Helper()
	if !OnGPU() {
		totalBytes, rounds = 2*emulatorBytes, emulatorRounds
	}
	size := max(totalBytes/2/16*16, 16)
	return max(kernelCopyBandwidth(t, d, size, rounds), driverCopyBandwidth(t, d, size, rounds))
}

func copySize() (sizeBytes, rounds int) {
	if OnGPU() {
		return copyBytes, copyRounds
	}
	return emulatorBytes, emulatorRounds
}

// KernelCopyBandwidth is CopyBandwidth for gputest_copy.
func KernelCopyBandwidth(t testing.TB, d *cuda.Device) float64 {
	t.Helper()
	sizeBytes, rounds := copySize()
	return kernelCopyBandwidth(t, d, sizeBytes, rounds)
}

func kernelCopyBandwidth(t testing.TB, d *cuda.Device, sizeBytes, rounds int) float64 {
	t.Helper()
	k := Kernel[CopyParams](t, d, "gputest_copy")
	return copyBandwidth(t, d, sizeBytes, rounds, func(s *cuda.Stream, dst, src cuda.Buffer[[4]uint32]) error {
		blocks := min(d.Info().Multiprocessors*copyBlocksPerMP, (src.Len()+copyThreads-1)/copyThreads)
		return cuda.Launch(s, k, cuda.D1(blocks), cuda.D1(copyThreads), 0,
			&CopyParams{Source: src.Ptr(), Target: dst.Ptr(), NumQuads: uint32(src.Len())})
	})
}

// DriverCopyBandwidth is CopyBandwidth for the driver's copy.
func DriverCopyBandwidth(t testing.TB, d *cuda.Device) float64 {
	t.Helper()
	sizeBytes, rounds := copySize()
	return driverCopyBandwidth(t, d, sizeBytes, rounds)
}

func driverCopyBandwidth(t testing.TB, d *cuda.Device, sizeBytes, rounds int) float64 {
	t.Helper()
	return copyBandwidth(t, d, sizeBytes, rounds, cuda.CopyDevice[[4]uint32])
}

func copyBandwidth(t testing.TB, d *cuda.Device, sizeBytes, rounds int, put func(s *cuda.Stream, dst, src cuda.Buffer[[4]uint32]) error) float64 {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := d.NewStream()
	must(err)
	defer func() { must(s.Close()) }()
	src, err := cuda.Alloc[[4]uint32](d, sizeBytes/16)
	must(err)
	defer func() { must(src.Free()) }()
	dst, err := cuda.Alloc[[4]uint32](d, sizeBytes/16)
	must(err)
	defer func() { must(dst.Free()) }()
	must(cuda.Fill(s, src, 1))
	must(put(s, dst, src)) // the first run loads code and page tables
	took := Elapsed(t, s, func() {
		for range rounds {
			must(put(s, dst, src))
		}
	})
	return 2 * float64(sizeBytes) * float64(rounds) / took.Seconds() / 1e9
}

// Elapsed returns the device time of the work that put enqueues, and waits for
// it.
func Elapsed(t testing.TB, s *cuda.Stream, put func()) time.Duration {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	from, err := s.Device().NewEvent(true)
	must(err)
	to, err := s.Device().NewEvent(true)
	must(err)
	must(s.Record(from))
	put()
	must(s.Record(to))
	must(to.Synchronize())
	took, err := to.Elapsed(from)
	must(err)
	must(from.Close())
	must(to.Close())
	return took
}
