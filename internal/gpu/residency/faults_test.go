package residency

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

func driverError(err error) bool {
	var e *cuda.Error
	return errors.As(err, &e)
}

// The error is returned and nothing leaks: cuda.Device.Close panics over memory that is not
// freed.
func TestOpenDeviceFaults(t *testing.T) {
	lib, err := cuda.Load(gputest.Library(t).Path())
	if err != nil {
		t.Fatal(err)
	}
	o := DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 2}
	open := func(faults *cuda.Faults, devices int) error {
		o.Faults = faults
		d, err := OpenDevice(lib, 0, o, devices)
		if err != nil {
			checkReleased(t, faults, err)
			return err
		}
		if n := len(d.uploaders); n != 4 { // with the promoter's and the preparer's
			t.Errorf("%d uploaders", n)
		}
		for i, u := range d.uploaders {
			if slots := u.slots[numSlots-1].words.Len() > 0; slots != (i != o.Uploaders) {
				t.Errorf("uploader %d has slots: %t", i, slots)
			}
		}
		if (d.own.rebaser != nil) != (devices > 1) {
			t.Errorf("%d devices: rebaser %v", devices, d.own.rebaser)
		}
		return d.Close()
	}
	for _, devices := range []int{1, 2} {
		counting := new(cuda.Faults)
		if err := open(counting, devices); err != nil {
			t.Fatal(err)
		}
		checkReleased(t, counting, nil)
		opening, calls := 0, counting.Calls()
		for call, n := range calls {
			if strings.Contains(call, "Free") || strings.Contains(call, "Destroy") || strings.Contains(call, "Unload") || strings.Contains(call, "Sync") || strings.Contains(call, "Release") {
				continue // calls of Close
			}
			for nth := 1; nth <= n; nth = max(nth+1, min(nth+1+n/8, n)) { // also the last
				faults := new(cuda.Faults)
				faults.Fail(call, nth, cuda.OutOfMemory)
				if err := open(faults, devices); driverError(err) {
					opening++
				} else if slices.Contains([]string{"cuMemHostAlloc", "cuEventCreate", "cuStreamCreate", "cuModuleLoadDataEx", "cuModuleGetFunction", "cuMemGetInfo_v2"}, call) {
					t.Errorf("%d devices: call %d of %s fails, but the error is %v", devices, nth, call, err)
				}
			}
		}
		if opening < 10 {
			t.Errorf("%d devices: %d failing calls had an error: %v", devices, opening, counting.Calls())
		}
	}
}

// checkReleased checks that a closed device released all that it made. err is the error of
// OpenDevice: the call that failed made nothing.
func checkReleased(t *testing.T, faults *cuda.Faults, err error) {
	t.Helper()
	calls, failed := faults.Calls(), ""
	if err != nil {
		failed = err.Error()
	}
	for made, released := range map[string]string{
		"cuStreamCreate": "cuStreamDestroy_v2", "cuEventCreate": "cuEventDestroy_v2", "cuModuleLoadDataEx": "cuModuleUnload", "cuMemHostAlloc": "cuMemFreeHost",
		"cuMemAlloc_v2": "cuMemFree_v2",
	} {
		want := calls[made]
		if strings.HasPrefix(failed, made) {
			want--
		} else if err == nil && want == 0 && made != "cuMemAlloc_v2" {
			t.Errorf("no call of %s", made)
		}
		if calls[released] != want {
			t.Errorf("error %q: %d calls of %s, want %d: %v", failed, calls[released], released, want, calls)
		}
	}
}

// The error of a failed clean-up is reported with the first one.
func TestOpenDeviceJoinsErrors(t *testing.T) {
	lib, err := cuda.Load(gputest.Library(t).Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, cleanUp := range []string{"cuStreamDestroy_v2", "cuModuleUnload"} { // of the uploader, of the device
		faults := new(cuda.Faults)
		faults.Fail("cuEventCreate", 2, cuda.OutOfMemory)
		faults.Fail(cleanUp, 1, cuda.InvalidValue)
		_, err := OpenDevice(lib, 0, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1, Faults: faults}, 1)
		if err == nil || !strings.Contains(err.Error(), "cuEventCreate") || !strings.Contains(err.Error(), cleanUp) {
			t.Errorf("cuEventCreate and %s fail: error %v", cleanUp, err)
		}
	}
	if _, err := OpenDevice(lib, 99, DeviceOptions{}, 1); err == nil {
		t.Error("device 99 opens")
	}
}

type uploadCase struct {
	name string
	word string
	host HostMemory
	run  func(u *Uploader, p *Shard, s *Segment, leg *Leg) error
}

func uploadCases() []uploadCase {
	image := func(u *Uploader, p *Shard, s *Segment, leg *Leg) error {
		e, err := u.Image(p, s, leg, new(Counts))
		if err == nil {
			e.Unpin()
		}
		return err
	}
	packed := func(u *Uploader, p *Shard, _ *Segment, leg *Leg) error {
		l, err := u.Packed(p, leg, new(Counts))
		if err == nil {
			l.Unpin()
		}
		return err
	}
	warm := func(a Action) func(u *Uploader, p *Shard, s *Segment, leg *Leg) error {
		return func(u *Uploader, p *Shard, s *Segment, leg *Leg) error {
			_, err := u.Warm(p, s, leg, a)
			return err
		}
	}
	none := HostMemory{None: true}
	return []uploadCase{
		{"image, decoded on the device", "w1", HostMemory{}, image},
		{"image, without a payload", "w0", HostMemory{}, image},
		{"image, decoded on the CPU", "w3", HostMemory{}, image},
		{"repeated image", "w1", HostMemory{}, func(u *Uploader, p *Shard, s *Segment, leg *Leg) error {
			u.d.cache.mu.Lock()
			u.d.cache.frequencies.add(leg.key(p.id), 1)
			u.d.cache.mu.Unlock()
			return image(u, p, s, leg) // through page-locked memory
		}},
		{"packed, page-locked", "w1", HostMemory{}, packed},
		{"packed", "w1", none, packed},
		{"warm image", "w1", HostMemory{}, warm(UploadImage)},
		{"warm locked", "w1", HostMemory{}, warm(LockList)},
		{"warm packed", "w1", HostMemory{}, warm(LockAndPack)},
		{"warm packed only", "w1", none, warm(LockAndPack)},
		{"warm directory", "w1", HostMemory{}, warm(LockAndPackDirectory)},
	}
}

// The error is returned, no list is half loaded, the next request succeeds, and nothing leaks.
func TestUploadFaults(t *testing.T) {
	s := makeSegment(t, 6000)
	for _, c := range uploadCases() {
		t.Run(c.name, func(t *testing.T) {
			faults := new(cuda.Faults)
			d := openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, HostMemory: c.host, Uploaders: 1, Faults: faults})
			u := d.uploaders[0]
			run := func() error {
				p := d.Shard(s, 0, s.NumDocs)
				defer func() {
					p.Release()
					c, h := d.cache.snapshot(), d.host.stats()
					if c.Lists+c.Directories+c.SizeBytes+h.Lists+h.SizeBytes != 0 || len(d.records.m)+len(d.cache.claims)+len(d.host.cache.claims) != 0 {
						t.Errorf("%+v, %+v, %d records: want no lists", c, h, len(d.records.m))
					}
				}()
				err := c.run(u, p, s, findLeg(t, s, c.word))
				if u.Busy() {
					t.Error("the uploader is busy")
				}
				if n := d.Probe().Users(); n != 0 {
					t.Errorf("%d pins", n)
				}
				if err != nil {
					if n := d.Probe().Lists(); n > 1 || n == 1 && d.host.stats().Lists != 1 {
						t.Errorf("%d lists after %v", n, err)
					}
					if again := c.run(u, p, s, findLeg(t, s, c.word)); again != nil {
						t.Errorf("after %v: %v", err, again)
					}
				}
				return err
			}
			before := faults.Calls()
			if err := run(); err != nil {
				t.Fatal(err)
			}
			first := faults.Calls()
			if err := run(); err != nil { // has buffers
				t.Fatal(err)
			}
			failed := 0
			for call, n := range faults.Calls() {
				for nth := 1; nth <= n-first[call]; nth++ {
					faults.Fail(call, nth, cuda.InvalidValue)
					called := faults.Calls()[call]
					err := run()
					switch {
					case driverError(err):
						failed++
					case err != nil:
						t.Errorf("call %d of %s fails: %v", nth, call, err)
					case faults.Calls()[call] < called+nth: // it was not made
					case !strings.Contains(call, "Free") && !strings.Contains(call, "Synchronize") && call != "cuMemHostAlloc":
						t.Errorf("call %d of %s fails without an error", nth, call)
					}
				}
			}
			if failed == 0 && c.name != "warm locked" && c.name != "packed, page-locked" {
				t.Errorf("no error of %v, then %v", before, first)
			}
		})
	}
}
