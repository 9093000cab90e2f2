package pipeline

// What a use of something in memory saves, in nanoseconds, is what it would cost to do
// without: entry.gain, of which the cache makes benefits per byte. The constants are of
// one order with what an H200 on PCIe 5 measures (docs/benchmarks); what counts are
// their ratios.

// imageGain is that of an image of so many bytes. Without it the list is brought:
// copies and launches, bytes over the bus and the kernel that makes images. If the
// compressed list serves as well (direct), it is read over the bus, and images are
// several times as large.
func imageGain(sizeBytes int64, direct bool) float64 {
	const (
		fixed = 20_000
		speed = 20 // bytes of the image a nanosecond
		// share of it that is saved where there is the other way.
		share = 1. / 9
	)
	gain := fixed + float64(sizeBytes)/speed
	if direct {
		return gain * share
	}
	return gain
}

// Reading compressed lists over the bus.
const (
	trip     = 1500 // of a first byte
	busSpeed = 50   // bytes a nanosecond
)

// packedGain is that of a compressed list on the device, in the place of page-locked
// memory: about half of the blocks are read, after the directory says which.
func packedGain(sizeBytes int64) float64 { return trip + float64(sizeBytes)/2/busSpeed }

// directoryGain is that of a directory on the device: all of it is read, and before
// anything else.
func directoryGain(sizeBytes int64) float64 { return trip + float64(sizeBytes)/busSpeed }

// hostGain is that of a compressed list in page-locked memory, into which the CPU
// copies it otherwise.
func hostGain(sizeBytes int64) float64 {
	const (
		fixed = 2000
		speed = 8 // bytes a nanosecond
	)
	return fixed + float64(sizeBytes)/speed
}
