package cuda

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/griffin-search/griffin/internal/sampletest"
)

// testDriver compiles testdata/driver.c with macros such as "VERSION=11080" and
// returns its path.
func testDriver(t testing.TB, macros ...string) string {
	t.Helper()
	if noDriver != "" {
		t.Skip(noDriver)
	}
	out := filepath.Join(t.TempDir(), "driver.so")
	args := []string{"-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", out, filepath.Join("testdata", "driver.c")}
	for _, m := range macros {
		args = append(args, "-D"+m)
	}
	cc := "cc"
	if c := os.Getenv("CC"); c != "" {
		cc = c
	}
	if _, err := exec.LookPath(cc); err != nil && os.Getenv("GRIFFIN_REQUIRE_GPU") == "1" {
		t.Skipf("no C compiler (%v), and this test uses no GPU", err)
	}
	if text, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cc, err, text)
	}
	return out
}

func openTestDriver(t testing.TB, macros ...string) *Device {
	t.Helper()
	l, err := Load(testDriver(t, macros...))
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestLoadSaysWhereItLooked(t *testing.T) {
	if noDriver != "" {
		_, err := Load("")
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "nogpu") {
			t.Errorf("Load = %v, want that the build has no GPU support", err)
		}
		return
	}
	t.Setenv(LibraryVariable, "/nowhere/libcuda.so.1")
	_, err := Load("")
	var e *Error
	if !errors.As(err, &e) || !e.Unavailable() || !e.CPUValid() || e.RetryValid() {
		t.Fatalf("Load = %#v, want an *Error that is unavailable and leaves the CPU", err)
	}
	for _, want := range []string{"/nowhere/libcuda.so.1", LibraryVariable} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Load = %v, want it to name %s", err, want)
		}
	}
}

func TestLoadTellsWhyTheDriverDoesNotStart(t *testing.T) {
	_, err := Load(testDriver(t, "INIT=100"))
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "CUDA_ERROR_NO_DEVICE: no CUDA-capable device") {
		t.Errorf("Load = %v, want the driver's name for code 100, as unavailable", err)
	}
	// The driver has no text for this code, which does not imply unavailability.
	_, err = Load(testDriver(t, "INIT=304"))
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "304") {
		t.Errorf("Load = %v, want code 304, as unavailable", err)
	}
}

func TestLoadTwiceIsOneLibrary(t *testing.T) {
	path := testDriver(t)
	a, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := Load(path); err != nil || a != b {
		t.Errorf("the second Load = %p, %v, want %p", b, err, a)
	}
}

func TestOpenRefusesWhatIsTooOld(t *testing.T) {
	for _, c := range []struct{ macro, want string }{
		{"VERSION=11080", "CUDA 11.8"},
		{"MAJOR=7", "compute capability 7.1"},
	} {
		t.Run(c.macro, func(t *testing.T) {
			l, err := Load(testDriver(t, c.macro))
			if err != nil {
				t.Fatal(err)
			}
			infos, err := l.Devices()
			if err != nil || len(infos) != 1 || !strings.Contains(infos[0].Unusable(), c.want) {
				t.Errorf("%s: Devices = %+v, %v, want one that is unusable for %q", c.macro, infos, err, c.want)
			}
			if _, err := l.Open(0); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: Open = %v, want unavailable for %q", c.macro, err, c.want)
			}
		})
	}
}

func TestOpenPassesOnTheDriversError(t *testing.T) {
	l, err := Load(testDriver(t, "RETAIN=2"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Open(0); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("Open = %v, want out of memory", err)
	}
	if _, err := l.Open(1); err == nil || !strings.Contains(err.Error(), "device 1") {
		t.Errorf("Open(1) = %v, want an error that names device 1", err)
	}
}

func TestAMissingFunctionIsAnErrorOfItsCall(t *testing.T) {
	d := openTestDriver(t)
	_, _, err := d.MemInfo()
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "cuMemGetInfo_v2") {
		t.Errorf("MemInfo = %v, want unavailable, naming the function", err)
	}
	if d.Err() != nil {
		t.Errorf("a missing function made the device failed: %v", d.Err())
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestModuleErrorHoldsTheCompilersLog(t *testing.T) {
	d := openTestDriver(t)
	_, err := d.LoadModule("x", []byte("bad"))
	if err == nil || !strings.Contains(err.Error(), "cuModuleLoadDataEx x") || !strings.Contains(err.Error(), "what is bad?") {
		t.Errorf("LoadModule = %v, want the compiler's log", err)
	}
}

func TestLoadImage(t *testing.T) {
	d := openTestDriver(t)
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	image := w.EncodeAll([]byte("good"), nil)
	unfoldable := w.EncodeAll([]byte("good %r0"), nil)
	m, err := d.LoadImage("x", image)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Unload(); err != nil {
		t.Error(err)
	}
	variants, err := zstd.NewWriter(nil, zstd.WithEncoderDictRaw(0, []byte("good")))
	if err != nil {
		t.Fatal(err)
	}
	if m, err = d.LoadVariant("x", variants.EncodeAll([]byte("good"), nil), image); err != nil {
		t.Fatal(err)
	}
	if err := m.Unload(); err != nil {
		t.Error(err)
	}
	flipped := slices.Clone(image)
	flipped[len(flipped)-1] ^= 1 // of the checksum
	for name, damaged := range map[string][]byte{
		"empty": nil, "text": []byte("good"), "short": image[:len(image)-1], "long": append(slices.Clip(image), 1), "flipped": flipped, "unfoldable": unfoldable,
	} {
		_, err := d.LoadImage("x", damaged)
		e := new(Error)
		if !errors.As(err, &e) || e.Code != InvalidImage || !e.CPUValid() || !strings.HasPrefix(err.Error(), "LoadImage x: the compressed PTX is damaged: ") {
			t.Errorf("%s: LoadImage = %v, want InvalidImage with the module's name", name, err)
		}
	}
	if _, err := d.LoadVariant("x", image, flipped); err == nil || !strings.HasPrefix(err.Error(), "LoadImage x: the compressed PTX is damaged: ") {
		t.Errorf("LoadVariant with a damaged dictionary = %v", err)
	}
	if d.Err() != nil {
		t.Errorf("a damaged image made the device failed: %v", d.Err())
	}
}

type nothingParams struct{ grid, block, magic uint32 }

func TestLaunchPassesParametersAndAllocatesNothing(t *testing.T) {
	d := openTestDriver(t)
	m, err := d.LoadModule("x", []byte("good"))
	if err != nil {
		t.Fatal(err)
	}
	k, err := LoadKernel[nothingParams](m, "nothing")
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(1000, func() {
		if err := Launch(s, k, D1(5), D1(32), 64, &nothingParams{5, 32, 0xdeadbeef}); err != nil {
			t.Error(err)
		}
		if done, err := s.Query(); !done || err != nil {
			t.Errorf("Query = %t, %v", done, err)
		}
	})
	if n != 0 && !sampletest.Race {
		t.Errorf("a launch and a query allocate %.2f times", n)
	}
	if err := Launch(s, k, D1(5), D1(32), 64, &nothingParams{6, 32, 0xdeadbeef}); !errors.Is(err, ErrLaunch) || !errors.Is(err, ErrDeviceLost) {
		t.Errorf("a launch that fails = %v, want launch failed and device lost", err)
	}
	if err := d.Err(); !errors.Is(err, ErrDeviceLost) {
		t.Errorf("Err = %v, want device lost", err)
	}
	if err := Launch(s, k, D1(5), D1(32), 64, &nothingParams{5, 32, 0xdeadbeef}); err != d.Err() { //nolint:errorlint // the same error is meant
		t.Errorf("a launch on a failed device = %v, want %v", err, d.Err())
	}
}

func BenchmarkLaunchCall(b *testing.B) {
	d := openTestDriver(b)
	m, _ := d.LoadModule("x", []byte("good"))
	k, err := LoadKernel[nothingParams](m, "nothing")
	if err != nil {
		b.Fatal(err)
	}
	s, err := d.NewStream()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.Run("launch", func(b *testing.B) {
		for b.Loop() {
			Launch(s, k, D1(5), D1(32), 64, &nothingParams{5, 32, 0xdeadbeef})
		}
	})
	b.Run("query", func(b *testing.B) {
		for b.Loop() {
			s.Query()
		}
	})
	b.Run("raw", func(b *testing.B) {
		for b.Loop() {
			d.lib.call(fnStreamQuery, s.handle)
		}
	})
}
