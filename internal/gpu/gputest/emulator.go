package gputest

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/ebitengine/purego"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Config describes the emulated devices.
type Config struct {
	Devices     int   // 0 to 4
	MemoryBytes int64 // of each device, up to 4 GiB less 64 MiB
}

var defaultConfig = Config{Devices: 1, MemoryBytes: 1 << 30}

// Configure sets up the emulator for a test that has not opened a device, and
// returns its driver. It skips tests if OnGPU, because they run on machines
// without a GPU.
func Configure(t testing.TB, c Config) *cuda.Library {
	t.Helper()
	if OnGPU() {
		t.Skip("this test needs the emulator: several devices, small ones, or faults")
	}
	e := emulated(t)
	if code := e.configure(int32(c.Devices), uint64(c.MemoryBytes)); code != 0 {
		t.Fatalf("gputest: the emulator cannot have %d devices of %d bytes", c.Devices, c.MemoryBytes)
	}
	t.Cleanup(func() { e.configure(int32(defaultConfig.Devices), uint64(defaultConfig.MemoryBytes)) })
	library, err := cuda.Load(e.path)
	if err != nil {
		t.Fatal(err)
	}
	return library
}

// OpenEmulated opens all devices until the end of the test, as Open does for
// one.
func OpenEmulated(t testing.TB, c Config) []*cuda.Device {
	t.Helper()
	library := Configure(t, c)
	devices := make([]*cuda.Device, c.Devices)
	for i := range devices {
		devices[i] = open(t, library, i)
	}
	return devices
}

// Lose makes the emulated device fail while it works: the nth kernel that runs
// from now on (from 1), and every later call, fail with code. The launch
// returns no error. The device, opened by OpenEmulated, works again after it is
// closed.
func Lose(t testing.TB, nth int, code cuda.Code) {
	t.Helper()
	e := emulated(t)
	e.lose(uint64(nth), int32(code))
	t.Cleanup(func() { e.lose(0, 0) })
}

// Launches returns the kernels that the emulator has run since the last Lose.
func Launches(t testing.TB) int {
	t.Helper()
	return int(emulated(t).launches())
}

// Report returns and clears the emulator's first finding since the last Report,
// or "": for a kernel "kernel NAME, block (x,y,z), thread (x,y,z): KIND: …"
// with the source line, for a refused call the reason.
func Report(t testing.TB) string {
	t.Helper()
	report, note := emulated(t).takeReport(), emulated(t).takeNote()
	if report == "" {
		return note
	}
	return report
}

// emulator has functions beyond the driver's.
type emulator struct {
	path      string
	report    func(buffer []byte, size uint64) uint64
	note      func(buffer []byte, size uint64) uint64
	configure func(count int32, bytes uint64) int32
	lose      func(launch uint64, code int32)
	launches  func() uint64
	textLock  sync.Mutex
}

var loadEmulator = sync.OnceValues(func() (*emulator, error) {
	directory, err := os.Getwd() // go test runs in the folder of the package
	if err != nil {
		return nil, err
	}
	root, err := moduleRoot(directory)
	if err != nil {
		return nil, err
	}
	path, err := buildEmulator(root, filepath.Base(directory))
	if err != nil {
		return nil, err
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	e := &emulator{path: path}
	purego.RegisterLibFunc(&e.report, handle, "griffin_emulator_take_report")
	purego.RegisterLibFunc(&e.note, handle, "griffin_emulator_take_note")
	purego.RegisterLibFunc(&e.configure, handle, "griffin_emulator_configure")
	purego.RegisterLibFunc(&e.lose, handle, "griffin_emulator_lose")
	purego.RegisterLibFunc(&e.launches, handle, "griffin_emulator_launches")
	return e, nil
})

func emulated(t testing.TB) *emulator {
	t.Helper()
	if os.Getenv(BuildVariable) == "none" {
		t.Skipf("%s=none: this test needs the emulator of GPUs", BuildVariable)
	}
	e, err := loadEmulator()
	if err != nil {
		t.Fatalf("gputest: no emulator: %v", err)
	}
	return e
}

// takeReport returns and clears the report, with source lines in place of code
// addresses.
func (e *emulator) takeReport() string {
	return codePlace.ReplaceAllStringFunc(e.take(e.report), func(place string) string {
		pc, err := strconv.ParseUint(codePlace.FindStringSubmatch(place)[1], 16, 64)
		if err != nil {
			return place
		}
		lines, err := sourceLines(e.path, pc)
		if err != nil {
			return place + " (" + err.Error() + ")"
		}
		return lines
	})
}

// takeNote returns and clears the note on the last refused call.
func (e *emulator) takeNote() string { return e.take(e.note) }

func (e *emulator) take(f func([]byte, uint64) uint64) string {
	e.textLock.Lock()
	defer e.textLock.Unlock()
	buffer := make([]byte, 4096)
	length := min(int(f(buffer, uint64(len(buffer)))), len(buffer)-1)
	return string(buffer[:length])
}
