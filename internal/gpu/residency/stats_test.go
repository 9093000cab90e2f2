package residency

import "testing"

func TestFormStats(t *testing.T) {
	a, b := FormStats{1, 2, 3, 4}, FormStats{50, 60, 70, 80}
	if got, want := a.Plus(&b), (FormStats{51, 62, 73, 84}); got != want {
		t.Errorf("Plus = %+v, want %+v", got, want)
	}
	if got, want := b.Since(&a), (FormStats{49, 58, 67, 76}); got != want {
		t.Errorf("Since = %+v, want %+v", got, want)
	}
	var counts FormCounts
	var sum FormStats
	for range 2 {
		counts.Add(&b)
	}
	for f, n := range []int64{100, 120, 140, 160} {
		sum.add(Form(f), n)
	}
	if got := counts.Stats(); got != sum {
		t.Errorf("counts %+v, want %+v", got, sum)
	}
}

func TestHostStatsSince(t *testing.T) {
	after := HostStats{Lists: 1, SizeBytes: 2, LimitBytes: 3, Filled: 40, FilledBytes: 50, Evictions: 60}
	got := after.Since(&HostStats{Lists: 9, SizeBytes: 9, LimitBytes: 9, Filled: 4, FilledBytes: 5, Evictions: 6})
	if want := (HostStats{1, 2, 3, 36, 45, 54}); got != want {
		t.Errorf("Since = %+v, want %+v", got, want)
	}
}

func TestForms(t *testing.T) {
	for f, want := range []string{"file", "host", "device", "image", "Form(4)"} {
		if got := Form(f).String(); got != want {
			t.Errorf("form %d is %q, want %q", f, got, want)
		}
	}
}

// Worked numbers of gain.go, in nanoseconds.
func TestGainNumbers(t *testing.T) {
	for what, c := range map[string]struct{ got, want float64 }{
		"image":               {imageGain(900_000, false), 65_000},     // 20,000 + 900,000/20
		"image beside packed": {imageGain(900_000, true), 65_000. / 9}, // a ninth
		"directory":           {directoryGain(5000), 1600},             // 1500 + 5000/50
		"packed":              {packedGain(100_000, 5000, 0.25), 3600}, // 1500 + 25,000/50 + 1600
		"host":                {hostGain(8000), 3000},                  // 2000 + 8000/8
	} {
		if c.got < c.want*0.999 || c.got > c.want*1.001 {
			t.Errorf("%s: %g, want %g", what, c.got, c.want)
		}
	}
}

// A conjunction reads its first list whole, then the blocks with candidates.
func TestShares(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if got < want-1e-4 || got > want+1e-4 {
			t.Errorf("%s: share %g, want %g", what, got, want)
		}
	}
	s := NewShares(true, 100_000)
	near("first list", s.Next(1000), 1)
	// 1000 candidates in 79 blocks of 128: 1 - e^(-12.66).
	near("second list", s.Next(10_000), 1)
	// 1000 * 2 * 10,000/100,000 = 200 candidates in 391 blocks: 1 - e^(-0.5115).
	near("third list", s.Next(50_000), 0.40041)
	// A list of all documents keeps the 200 candidates, in 782 blocks; another one, too.
	near("fourth list", s.Next(100_000), 0.22564)
	near("fifth list", s.Next(100_000), 0.22564)
	s = NewShares(true, 100_000)
	s.From(10)
	near("after 10 candidates", s.Next(128*10), 0.63212) // 1 - 1/e
	s = NewShares(true, 0)
	s.From(10)
	near("empty list", s.Next(0), 1)
	s = NewShares(true, 100_000)
	s.From(0)
	near("no candidates", s.Next(1000), 0)
	s = NewShares(false, 100_000)
	near("OR", s.Next(1000), usualShare)
	near("OR", s.Next(1000), usualShare)
}
