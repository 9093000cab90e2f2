package cost

import (
	"math"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/vfs"
)

// For any valid coefficients and any work, predictions are finite and can be
// added.
func TestPredictionsAreBounded(t *testing.T) {
	m := New(here)
	next := *m.fitted.Load()
	for k := range next.coefficients {
		for i := range next.coefficients[k] {
			next.coefficients[k][i] = maxCoefficient
		}
	}
	m.fitted.Store(&next)
	most := int64(1) << 40
	f := Features{Lists: 1 << 20, K: 1 << 20, Shortest: most, Second: most, Longest: most, Sum: most, Essential: most, Tight: most, Candidates: most, Blocks: most, BytesBus: most, BytesFile: most, Batch: 1 << 20}
	for k := range NumKinds {
		for range 50 {
			m.Observe(k, &f, math.MaxInt64)
		}
		if took := m.Predict(k, &f); took < time.Hour || took > time.Duration(maxSample) {
			t.Errorf("%v: %v: want up to %v", k, took, time.Duration(maxSample))
		}
	}
}

// Work that takes seconds can be calibrated, saved and loaded.
func TestSlowMachineIsKept(t *testing.T) {
	m := New(here)
	var samples []Measured
	for i := range 40 {
		samples = append(samples, Measured{CPUBegin, Features{Shortest: 1}, time.Duration(20+i%3) * time.Second})
	}
	m.Calibrate(samples)
	path := filepath.Join(t.TempDir(), FileName)
	if err := m.Save(vfs.OS, path); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(vfs.OS, path, here)
	if err != nil {
		t.Fatal(err)
	}
	same(t, loaded, m)
	if took := loaded.Predict(CPUBegin, &Features{Shortest: 1}); took < 15*time.Second || took > 30*time.Second {
		t.Errorf("predicted %v, want about 21 s", took)
	}
}

// griffin serve changes GOMAXPROCS after opening its index; the identity stays.
func TestMachineStaysTheSame(t *testing.T) {
	before := Here(nil)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 3))
	if after := Here(nil); !after.Equal(before) {
		t.Errorf("%+v, was %+v", after, before)
	}
}
