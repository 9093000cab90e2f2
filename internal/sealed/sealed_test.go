package sealed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

const kind = "test"

func create(t testing.TB, fs vfs.FS, name string, payload []byte) {
	t.Helper()
	w, err := sealed.Create(fs, name, kind, 3)
	if err != nil {
		t.Fatal(err)
	}
	for rest := payload; len(rest) > 0; { // in uneven pieces
		n := min(len(rest), 1+len(rest)/3)
		if m, err := w.Write(rest[:n]); m != n || err != nil {
			t.Fatal(m, err)
		}
		rest = rest[n:]
	}
	if got := w.Offset(); got != uint64(len(payload)) {
		t.Fatalf("Offset is %d, want %d", got, len(payload))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if size, err := fs.Stat(name); err != nil || size != w.SizeBytes() {
		t.Fatalf("file has %d bytes, the writer says %d, %v", size, w.SizeBytes(), err)
	}
}

func random(n int) []byte {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 3, 4, 5, sealed.ChunkLen - 1, sealed.ChunkLen, sealed.ChunkLen + 1, 70*sealed.ChunkLen + 17} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			mem := vfstest.NewMem()
			payload := random(n)
			create(t, mem, "a", payload)
			f, err := sealed.Open(mem, "a", kind, 3)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if f.Version() != 3 || f.Len() != uint64(n) || f.Name() != "a" {
				t.Errorf("version %d, %d bytes, name %q", f.Version(), f.Len(), f.Name())
			}
			if err := f.Verify(context.Background(), nil); err != nil || !bytes.Equal(f.Bytes(), payload) {
				t.Errorf("payload differs, %v", err)
			}
			if cap(f.Bytes())-len(f.Bytes()) < sealed.Slack {
				t.Errorf("%d bytes of slack, want %d", cap(f.Bytes())-len(f.Bytes()), sealed.Slack)
			}
			for _, r := range [][2]uint64{{0, uint64(n) + 1}, {uint64(n) + 1, 0}, {1, ^uint64(0)}, {^uint64(0), 1}} {
				if err := f.Check(r[0], r[1]); !errors.Is(err, base.ErrCorrupt) {
					t.Errorf("Check(%d, %d): %v, want ErrCorrupt", r[0], r[1], err)
				}
			}
		})
	}
}

func TestAlign(t *testing.T) {
	mem := vfstest.NewMem()
	w, err := sealed.Create(mem, "a", kind, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 16, 64, 256} {
		if _, err := w.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		if err := w.Align(n); err != nil || w.Offset()%uint64(n) != 0 {
			t.Errorf("Align(%d): offset %d, %v", n, w.Offset(), err)
		}
	}
	for _, n := range []int{0, -1, 3, 512} {
		if err := w.Align(n); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("Align(%d): %v, want ErrBadInput", n, err)
		}
	}
}

func TestCheckFindsDamageAtFirstTouch(t *testing.T) {
	const (
		header  = 64
		chunk   = sealed.ChunkLen
		damaged = 65
	)
	mem := vfstest.NewMem()
	create(t, mem, "a", random(70*chunk))
	data := mem.Get("a")
	data[header+damaged*chunk+5] ^= 4
	mem.Set("a", data)
	f, err := sealed.Open(mem, "a", kind, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 3 {
				if err := f.Check(0, damaged*chunk); err != nil {
					t.Error(err)
				}
				if err := f.Check((damaged+1)*chunk, 4*chunk); err != nil {
					t.Error(err)
				}
				for _, r := range [][2]uint64{{damaged*chunk - 1, 2}, {0, 70 * chunk}, {63 * chunk, 6 * chunk}} {
					if err := f.Check(r[0], r[1]); !errors.Is(err, base.ErrCorrupt) {
						t.Errorf("Check(%d, %d) over the damaged chunk: %v", r[0], r[1], err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := f.Verify(context.Background(), nil); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("Verify: %v", err)
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	mem := vfstest.NewMem()
	create(t, mem, "a", random(3*sealed.ChunkLen))
	f, err := sealed.Open(mem, "a", kind, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n := testing.AllocsPerRun(100, func() {
		if err := f.Check(10, 2*sealed.ChunkLen); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Check allocates %v times", n)
	}
}

func TestEveryBitIsChecked(t *testing.T) {
	mem := vfstest.NewMem()
	create(t, mem, "a", random(37))
	whole := mem.Get("a")
	accepted := func(data []byte) bool {
		mem.Set("a", data)
		f, err := sealed.Open(mem, "a", kind, 3)
		if err == nil {
			defer f.Close()
			err = f.Verify(context.Background(), nil)
		}
		if err != nil && !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
			t.Errorf("error is %v, want ErrCorrupt", err)
		}
		return err == nil
	}
	if !accepted(whole) {
		t.Fatal("the whole file is refused")
	}
	for bit := range 8 * len(whole) {
		data := bytes.Clone(whole)
		data[bit/8] ^= 1 << (bit % 8)
		if accepted(data) {
			t.Errorf("bit %d of byte %d does not matter", bit%8, bit/8)
		}
	}
	for n := range whole {
		if accepted(whole[:n]) {
			t.Errorf("file cut to %d of %d bytes is accepted", n, len(whole))
		}
	}
	for _, n := range []int{1, 4, 64} {
		if accepted(append(bytes.Clone(whole), make([]byte, n)...)) {
			t.Errorf("file with %d more bytes is accepted", n)
		}
	}
}

func TestOpenTellsWhatIsWrong(t *testing.T) {
	mem := vfstest.NewMem()
	create(t, mem, "a", nil)
	if _, err := sealed.Open(mem, "none", kind, 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := sealed.Open(mem, "a", kind, 2); !errors.Is(err, base.ErrVersion) {
		t.Errorf("newer version: %v", err)
	}
	if _, err := sealed.Open(mem, "a", "other", 3); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("other kind: %v", err)
	}
	for _, k := range []string{"", "ninechars"} {
		if _, err := sealed.Create(mem, "b", k, 1); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("kind %q: %v", k, err)
		}
	}
}

func TestWriterWithFaults(t *testing.T) {
	payload := random(2*sealed.ChunkLen + 5)
	write := func(plan vfstest.Plan) (*vfstest.Mem, *vfstest.Faulty, error) {
		mem := vfstest.NewMem()
		faulty := vfstest.NewFaulty(mem, plan)
		w, err := sealed.Create(faulty, "a", kind, 1)
		if err != nil {
			return mem, faulty, err
		}
		if _, err := w.Write(payload); err != nil {
			return mem, faulty, errors.Join(err, w.Abort())
		}
		return mem, faulty, w.Close()
	}
	_, faulty, err := write(vfstest.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= faulty.Ops(); n++ {
		for _, plan := range []vfstest.Plan{{FailAt: n}, {FailAt: n, Once: true, ShortWrite: true}} {
			mem, _, err := write(plan)
			if !errors.Is(err, vfstest.ErrInjected) {
				t.Errorf("%+v: %v", plan, err)
			}
			if names := mem.Names(); plan.Once && n < faulty.Ops() && len(names) != 0 {
				t.Errorf("%+v: files are left: %q", plan, names)
			}
		}
	}
	if _, _, err := write(vfstest.Plan{DiskBytes: sealed.ChunkLen}); err == nil || strings.Count(err.Error(), "write a:") != 1 {
		t.Errorf("on a full disk: %v; it must name the file once", err)
	}
	w, err := sealed.Create(vfstest.NewMem(), "a", kind, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Abort(), w.Abort()); err != nil {
		t.Error(err)
	}
	if err := w.Close(); !errors.Is(err, base.ErrClosed) {
		t.Errorf("Close after Abort: %v", err)
	}
	if w, err = sealed.Create(vfstest.NewMem(), "a", kind, 1); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("late")); !errors.Is(err, base.ErrClosed) {
		t.Errorf("Write after Close: error %v, want ErrClosed", err)
	}
}

func FuzzOpen(f *testing.F) {
	mem := vfstest.NewMem()
	for _, n := range []int{0, 1, 100, sealed.ChunkLen + 1} {
		create(f, mem, "a", random(n))
		f.Add(mem.Get("a"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		mem := vfstest.NewMem()
		mem.Set("a", data)
		file, err := sealed.Open(mem, "a", kind, 3)
		if err == nil {
			defer file.Close()
			err = file.Verify(context.Background(), nil)
		}
		if err != nil {
			if !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
				t.Fatalf("error is %v", err)
			}
			return
		}
		w, err := sealed.Create(mem, "b", kind, file.Version())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(file.Bytes()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(mem.Get("b"), data) {
			t.Fatal("accepted a file that no Writer makes")
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	mem := vfstest.NewMem()
	create(b, mem, "a", random(16<<20))
	f, err := sealed.Open(mem, "a", kind, 3)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("first", func(b *testing.B) {
		b.SetBytes(16 << 20)
		for b.Loop() {
			if err := f.Verify(context.Background(), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			if err := f.Check(12345, 1000); err != nil {
				b.Fatal(err)
			}
		}
	})
}
