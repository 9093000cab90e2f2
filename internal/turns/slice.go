package turns

import "time"

// slice is the shortest of Linux. The usual one is up to 3 ms.
const slice = 100 * time.Microsecond

// ShortSlices asks the system for short time slices for all threads of the process: a thread that becomes ready, for
// example because a request has arrived, then waits for 0.1 ms at most before it takes a processor from one that
// computes, instead of up to a tick of the system, 4 ms. The shares of the processors do not change. Threads that are
// made later have the slice of their maker.
//
// Linux 6.12 and later do so; others ignore it, and so does ShortSlices if the system does not permit it.
func ShortSlices() { setSlices(slice) }

// longSlice is the usual one of Linux with two processors or more.
const longSlice = 3 * time.Millisecond

// Long calls f, work in the background that computes for some milliseconds or more, on a thread with long time slices:
// a thread with a shorter one that becomes ready takes the processor from it at once. It costs two calls of the system.
func Long(f func()) { withSlice(longSlice, f) }
