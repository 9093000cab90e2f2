package gputest

import (
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// On a GPU a copy is measured over copyBytes, far more than its caches hold, and
// copyRounds times; on the emulator over little, once.
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

// CopyBandwidth measures what copies memory of the device fastest, a kernel or the
// driver, in GB/s (1e9 bytes), the bytes read and the bytes written both counted.
// Kernels state their speed as a share of it. It is measured once for a device and
// takes some 20 ms on a GPU; on the emulator the figure means nothing.
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

// SameCopyBandwidth is CopyBandwidth of copies that read and write totalBytes in all,
// each, and follow each other rounds times: what a kernel that moves as much is to be
// compared with, if it is timed so. Of less than some 100 MB the second-level cache keeps
// a part, and what lies between two launches counts. On the emulator, little is copied
// instead.
func SameCopyBandwidth(t testing.TB, d *cuda.Device, totalBytes, rounds int) float64 {
	t.Helper()
	if !OnGPU() {
		totalBytes, rounds = 2*emulatorBytes, emulatorRounds
	}
	size := max(totalBytes/2/16*16, 16)
	return max(kernelCopyBandwidth(t, d, size, rounds), driverCopyBandwidth(t, d, size, rounds))
}

// copySize is how much is copied how often.
func copySize() (sizeBytes, rounds int) {
	if OnGPU() {
		return copyBytes, copyRounds
	}
	return emulatorBytes, emulatorRounds
}

// KernelCopyBandwidth is CopyBandwidth of the kernel gputest_copy.
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

// DriverCopyBandwidth is CopyBandwidth of the driver's copy within the device.
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

// Elapsed returns the device's time for the work that put puts into s. It waits
// for all of it.
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
