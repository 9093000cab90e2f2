package cuda_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

func BenchmarkLaunch(b *testing.B) {
	d := gputest.Open(b)
	s := newStream(b, d)
	k := gputest.Kernel[gputest.StoreParams](b, d, "gputest_store")
	flag := allocHost[uint32](b, d, 1)
	word := alloc[uint32](b, d, 1)
	launch := func(target cuda.Ptr[uint32], value uint32) {
		if err := cuda.Launch(s, k, cuda.D1(1), cuda.D1(32), 0, &gputest.StoreParams{Target: target, Value: value}); err != nil {
			b.Fatal(err)
		}
	}
	// The queue is drained every 256 launches, untimed, before launches block.
	b.Run("launch", func(b *testing.B) {
		var spent time.Duration
		for n := 0; b.Loop(); n++ {
			start := time.Now()
			launch(word.Ptr(), 1)
			spent += time.Since(start)
			if n%256 == 255 {
				must(b, s.Synchronize())
			}
		}
		must(b, s.Synchronize())
		b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/launch")
	})
	b.Run("launch+sync", func(b *testing.B) {
		for b.Loop() {
			launch(word.Ptr(), 1)
			must(b, s.Synchronize())
		}
	})
	// From the launch until the host sees the kernel's write.
	b.Run("launch+poll", func(b *testing.B) {
		seen := &flag.Data()[0]
		for value := uint32(1); b.Loop(); value++ {
			launch(flag.DevicePtr(), value)
			for atomic.LoadUint32(seen) != value {
				if !gputest.OnGPU() { // the emulator only works during a driver call
					must(b, s.Synchronize())
				}
			}
		}
		must(b, s.Synchronize())
	})
	must(b, s.BeginCapture())
	for range 3 {
		launch(word.Ptr(), 1)
	}
	g, err := s.EndCapture()
	must(b, err)
	x, err := g.Instantiate()
	must(b, err)
	must(b, g.Close())
	defer x.Close()
	b.Run("graph of 3+sync", func(b *testing.B) {
		for b.Loop() {
			must(b, x.Launch(s))
			must(b, s.Synchronize())
		}
	})
	b.Run("3 launches+sync", func(b *testing.B) {
		for b.Loop() {
			for range 3 {
				launch(word.Ptr(), 1)
			}
			must(b, s.Synchronize())
		}
	})
	b.Run("device", func(b *testing.B) { // device time between two launches
		took := gputest.Elapsed(b, s, func() {
			for b.Loop() {
				launch(word.Ptr(), 1)
			}
		})
		b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "device-ns/launch")
	})
}

func BenchmarkAlloc(b *testing.B) {
	d := gputest.Open(b)
	s := newStream(b, d)
	const n = 1 << 20
	b.Run("device", func(b *testing.B) {
		for b.Loop() {
			m, err := cuda.Alloc[uint8](d, n)
			must(b, err)
			must(b, m.Free())
		}
	})
	b.Run("pool", func(b *testing.B) {
		for b.Loop() {
			m, err := cuda.AllocAsync[uint8](s, n)
			must(b, err)
			must(b, m.FreeAsync(s))
		}
		must(b, s.Synchronize())
	})
}

// In GB/s of 1e9 bytes. Within the device, read and written bytes both count.
func BenchmarkCopy(b *testing.B) {
	d := gputest.Open(b)
	s := newStream(b, d)
	n := 256 << 20
	if !gputest.OnGPU() {
		n = 1 << 14
	}
	device := alloc[uint8](b, d, n)
	pinned := allocHost[uint8](b, d, n)
	pageable := make([]uint8, n)
	measure := func(name string, put func() error) {
		b.Run(name, func(b *testing.B) {
			must(b, put())
			must(b, s.Synchronize())
			rounds := 0
			var took time.Duration
			for b.Loop() {
				took += gputest.Elapsed(b, s, func() { must(b, put()) })
				rounds++
			}
			b.ReportMetric(float64(n)*float64(rounds)/took.Seconds()/1e9, "GB/s")
		})
	}
	measure("to device, page-locked", func() error { return cuda.CopyToDevice(s, device, pinned.Data()) })
	measure("to host, page-locked", func() error { return cuda.CopyToHost(s, pinned.Data(), device) })
	measure("to device, pageable", func() error { return cuda.CopyToDevice(s, device, pageable) })
	measure("to host, pageable", func() error { return cuda.CopyToHost(s, pageable, device) })
	measure("fill", func() error { return cuda.Fill(s, device, 1) })
	within := func(name string, bandwidth func(testing.TB, *cuda.Device) float64) {
		b.Run(name, func(b *testing.B) {
			var sum float64
			for b.Loop() {
				sum += bandwidth(b, d)
			}
			b.ReportMetric(sum/float64(b.N), "GB/s")
		})
	}
	within("within device, driver", gputest.DriverCopyBandwidth)
	within("within device, kernel", gputest.KernelCopyBandwidth)
}
