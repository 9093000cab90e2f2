package cost

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

var here = Machine{CPU: "a processor", Cores: 16, GPUs: []string{"a GPU, CUDA 13.0"}}

func calibrated(t testing.TB) *Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(13, 1))
	samples := measuredAnd(rng, 120, func() float64 { return 1 })
	for range 150 {
		f := Features{Lists: 1 + rng.IntN(3), Sum: int64(math.Exp(2 + rng.Float64()*12))}
		samples = append(samples, Measured{GPUImagesOr, f, time.Duration(1000 * math.Sqrt(float64(f.Sum)))})
	}
	m := New(here)
	m.Calibrate(samples)
	m.SetTrees(Trees{CPUOr: train(t, powers(rng, 100, 0.1), TreeOptions{}), GPUAnd: train(t, powers(rng, 50, 0.1), TreeOptions{})})
	for i := range 100 {
		m.Observe(CPUAnd, &samples[i].Features, 2*samples[i].Took)
	}
	if m.fitted.Load().own[GPUImagesOr] == nil {
		t.Fatal("there is no tree")
	}
	return m
}

func same(t *testing.T, got, want *Model) {
	t.Helper()
	rng := rand.New(rand.NewPCG(13, 2))
	for range 500 {
		k := Kind(rng.IntN(int(NumKinds)))
		n := func() int64 { return int64(math.Exp(rng.Float64() * 14)) }
		f := Features{Lists: 1 + rng.IntN(5), K: 10, Shortest: n(), Second: n(), Longest: n(), Sum: n(), Essential: n(), Candidates: n(), Blocks: n(), BytesBus: n(), BytesFile: n()}
		if g, w := got.Predict(k, &f), want.Predict(k, &f); g != w {
			t.Fatalf("%v: %v, was %v", k, g, w)
		}
		if g, w := got.PredictTree(k, &f), want.PredictTree(k, &f); g != w {
			t.Fatalf("%v: the tree says %v, was %v", k, g, w)
		}
	}
	if !slices.Equal(got.Fits(), want.Fits()) || !got.Machine().Equal(want.Machine()) {
		t.Errorf("%+v on %+v, was %+v on %+v", got.Fits(), got.Machine(), want.Fits(), want.Machine())
	}
}

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	m := calibrated(t)
	if m.Unsaved() != 100 {
		t.Errorf("%d observations are not saved, of 100", m.Unsaved())
	}
	if err := m.Save(vfs.OS, path); err != nil {
		t.Fatal(err)
	}
	if m.Unsaved() != 0 {
		t.Errorf("%d observations are not saved, of none", m.Unsaved())
	}
	loaded, err := Load(vfs.OS, path, here)
	if err != nil {
		t.Fatal(err)
	}
	same(t, loaded, m)
	if n := len(loaded.Errors()); n != 0 {
		t.Errorf("%d errors of what was observed before", n)
	}
	if names, err := vfs.OS.ReadDir(filepath.Dir(path)); err != nil || !slices.Equal(names, []string{FileName}) {
		t.Errorf("the folder has %v, %v", names, err)
	}
}

// Each machine's model can be loaded, and the most recent ones are kept.
func TestSaveKeepsOtherMachines(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	m := calibrated(t)
	if err := m.Save(vfs.OS, path); err != nil {
		t.Fatal(err)
	}
	for cores := range maxMachines - 1 {
		other := here
		other.Cores = cores
		if _, err := Load(vfs.OS, path, other); !errors.Is(err, ErrForeign) {
			t.Fatalf("another machine's model: %v", err)
		}
		for range 2 { // the second replaces the first
			if err := New(other).Save(vfs.OS, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	loaded, err := Load(vfs.OS, path, here)
	if err != nil {
		t.Fatal(err)
	}
	same(t, loaded, m)
	if err := New(Machine{CPU: "one more"}).Save(vfs.OS, path); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(vfs.OS, path, here); !errors.Is(err, ErrForeign) {
		t.Errorf("the oldest of too many: %v", err)
	}
	for _, other := range []Machine{{}, {CPU: here.CPU, Cores: 16}, {CPU: here.CPU, Cores: 16, GPUs: []string{"a GPU, CUDA 12.0"}}} {
		if here.Equal(other) || !other.Equal(other) {
			t.Errorf("%+v", other)
		}
	}
}

func TestHere(t *testing.T) {
	m := Here([]string{"x"})
	if m.CPU == "" || strings.Contains(m.CPU, "\n") || m.Cores < 1 || !m.Equal(Here([]string{"x"})) || m.Equal(Here(nil)) {
		t.Errorf("%+v", m)
	}
}

// Damaged, truncated or foreign files give a specific error, and Save renames
// them unchanged.
func TestLoadDamaged(t *testing.T) {
	valid := encoded(t)
	for _, c := range []struct {
		name, from, to string
		want           error
	}{
		{"nothing", string(valid), "", base.ErrCorrupt},
		{"no JSON", string(valid), "costs", base.ErrCorrupt},
		{"more than one object", string(valid), string(valid) + "{", base.ErrCorrupt},
		{"another format", `"format": 2`, `"format": 3`, base.ErrVersion},
		{"no format", `"format": 2,`, ``, base.ErrVersion},
		{"another processor", `"a processor"`, `"another"`, ErrForeign},
		{"no models", `"models": [`, `"models": [],"x": [`, ErrForeign},
		{"an unknown kind", `"cpu-and"`, `"cpu-xor"`, base.ErrCorrupt},
		{"a negative coefficient", "\"ns\": [\n", "\"ns\": [\n-1,", base.ErrCorrupt},
		{"one too many", "\"ns\": [\n", "\"ns\": [\n1,", base.ErrCorrupt},
		{"a huge coefficient", "\"ns\": [\n", "\"ns\": [\n1e300,", base.ErrCorrupt},
		{"an unknown class", `"class": `, `"class": 1`, base.ErrCorrupt},
		{"a negative class", `"class": `, `"class": -1`, base.ErrCorrupt},
		{"a huge correction", `"log": `, `"log": 9`, base.ErrCorrupt},
		{"an unknown tree", `"gpu-and": {`, `"gpu-xor": {`, base.ErrCorrupt},
		{"no tree", `"gpu-and": {`, `"gpu-and": null, "x": {`, base.ErrCorrupt},
		{"a circle", `"left": 1,`, `"left": -1,`, base.ErrCorrupt},
		{"a node beyond the last", `"left": 1,`, `"left": 100000,`, base.ErrCorrupt},
		{"no nodes", `"nodes": [`, `"nodes": [], "x": [`, base.ErrCorrupt},
		{"no bounds", `"least_ns": `, `"least": `, base.ErrCorrupt},
		{"bounds the wrong way", `"least_ns": `, `"least_ns": 9e9`, base.ErrCorrupt},
		{"a negative variance", `"variance": `, `"variance": -1`, base.ErrCorrupt},
		{"a huge variance", `"variance": `, `"variance": 99`, base.ErrCorrupt},
		{"negative samples", `"samples": `, `"samples": -`, base.ErrCorrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			damaged := strings.Replace(string(valid), c.from, c.to, 1)
			if damaged == string(valid) {
				t.Errorf("%s: nothing was changed", c.name)
				return
			}
			disk := vfstest.NewMem()
			disk.Set("x/"+FileName, []byte(damaged))
			if _, err := Load(disk, "x/"+FileName, here); !errors.Is(err, c.want) || !strings.Contains(err.Error(), FileName) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
			m := calibrated(t)
			if err := m.Save(disk, "x/"+FileName); err != nil {
				t.Errorf("%s: save: %v", c.name, err)
			}
			if _, err := Load(disk, "x/"+FileName, here); err != nil {
				t.Errorf("%s: load what was saved over it: %v", c.name, err)
			}
			old := damaged
			if errors.Is(c.want, ErrForeign) {
				old = ""
			}
			if got := string(disk.Get("x/" + OldName)); got != old {
				t.Errorf("%s: %s has %.100q, want %.100q", c.name, OldName, got, old)
			}
		})
	}
	if _, err := Load(vfs.OS, filepath.Join(t.TempDir(), FileName), here); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func encoded(t testing.TB) []byte {
	t.Helper()
	disk := vfstest.NewMem()
	if err := calibrated(t).Save(disk, FileName); err != nil {
		t.Fatal(err)
	}
	return disk.Get(FileName)
}

// After any failure the file is the old or the new one, with the model of
// another machine, and no temporary file remains unless it cannot be removed.
func TestSaveIsAtomic(t *testing.T) {
	former := encoded(t)
	m := calibrated(t)
	m.machine.Cores++
	for _, once := range []bool{false, true} {
		for n := 1; ; n++ {
			disk := vfstest.NewMem()
			disk.Set("x/"+FileName, former)
			faulty := vfstest.NewFaulty(disk, vfstest.Plan{FailAt: n, Once: once})
			err := m.Save(faulty, "x/"+FileName)
			if faulty.Ops() < n {
				if err != nil {
					t.Errorf("without a fault: %v", err)
				}
				break
			}
			if _, err := Load(disk, "x/"+FileName, here); err != nil {
				t.Fatalf("operation %d failed, once: %t: %v", n, once, err)
			}
			for _, name := range disk.Names() {
				if base := filepath.Base(name); base != FileName && !IsTemp(base) {
					t.Errorf("operation %d failed: %s is left", n, name)
				}
			}
		}
	}
}

func TestSaveReadOnly(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	if os.Geteuid() == 0 { // may write anyway
		dir = filepath.Join(dir, "missing")
	}
	m := calibrated(t)
	if err := m.Save(vfs.OS, filepath.Join(dir, FileName)); !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if m.Unsaved() == 0 {
		t.Error("counts as saved")
	}
}

func TestIsTemp(t *testing.T) {
	for name, want := range map[string]bool{
		"costs.json.0123456789abcdef.tmp": true, "costs.json": false, "costs.json.tmp": false, "costs.json.bak": false, "x.costs.json.1.tmp": false, "": false,
	} {
		t.Run(name, func(t *testing.T) {
			if IsTemp(name) != want {
				t.Errorf("%q: %v", name, !want)
			}
		})
	}
}

// Any bytes give a documented error, or a model that predicts and can be saved
// and loaded again.
func FuzzLoad(f *testing.F) {
	valid := encoded(f)
	f.Add(valid)
	f.Add(valid[:len(valid)/2])
	f.Add([]byte(`{"format":2,"models":[{"machine":{"cpu":"a processor","cores":16,"gpus":["a GPU, CUDA 13.0"]},"kinds":{"cpu-and":{"ns":[1,2,3,4,5,6],"samples":9,"mean_relative_error":0.1,"corrections":[{"class":3,"log":-1}]}},
		"trees":{"gpu-or":{"nodes":[{"feature":3,"threshold":2,"left":1,"right":2},{"model":{"intercept":3,"slopes":[1,0,0,0,0,0,0,0]}},{"model":{"intercept":1,"slopes":[0,0,0,0,0,0,0,-9]}}],"samples":9,"least_ns":1,"most_ns":1000}}}]}`))
	features := Features{Lists: 3, K: 10, Shortest: 100, Second: 1000, Longest: 9000, Sum: 10100, Candidates: 50}
	f.Fuzz(func(t *testing.T, data []byte) {
		disk := vfstest.NewMem()
		disk.Set(FileName, data)
		m, err := Load(disk, FileName, here)
		if err != nil {
			if !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) && !errors.Is(err, ErrForeign) {
				t.Fatalf("an error of no kind: %v", err)
			}
			m = New(here)
		}
		for k := range NumKinds {
			if p := m.Predict(k, &features); p < 0 {
				t.Fatalf("%v: %v", k, p)
			}
			if p := m.PredictTree(k, &features); p < 0 {
				t.Fatalf("%v: the tree says %v", k, p)
			}
		}
		if err := m.Save(disk, FileName); err != nil {
			t.Fatal(err)
		}
		again, err := Load(disk, FileName, here)
		if err != nil {
			t.Fatal(err)
		}
		same(t, again, m)
	})
}

func TestFileIsJSON(t *testing.T) {
	data := encoded(t)
	if !json.Valid(data) || !bytes.HasPrefix(data, []byte("{\n \"format\": 2,\n")) || !bytes.HasSuffix(data, []byte("}\n")) {
		t.Errorf("%.200s", data)
	}
}
