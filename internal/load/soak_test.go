package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/sampletest"
)

// Fluctuating memory passes; a leak fails, and the verdict names the quantity.
func TestSoak(t *testing.T) {
	answers := targetFunc(func(context.Context, int) (Outcome, error) { return Answered, nil })
	sheds := targetFunc(func(_ context.Context, query int) (Outcome, error) {
		if query%100 == 0 {
			return Overloaded, nil
		}
		return Answered, nil
	})
	fails := targetFunc(func(_ context.Context, query int) (Outcome, error) {
		if query == 77 {
			return Failed, errors.New("one of all")
		}
		return Answered, nil
	})
	for name, c := range map[string]struct {
		target Target
		change func(r *Reading, i int64) error
		reason string
	}{
		"steady":     {answers, func(*Reading, int64) error { return nil }, ""},
		"heap":       {answers, func(r *Reading, i int64) error { r.HeapBytes += i << 20; return nil }, "heap grew"},
		"host":       {answers, func(r *Reading, i int64) error { r.HostBytes += i << 20; return nil }, "host memory grew"},
		"device":     {answers, func(r *Reading, i int64) error { r.DeviceBytes += i << 20; return nil }, "device memory grew"},
		"pinned":     {answers, func(r *Reading, i int64) error { r.PinnedBytes += i << 20; return nil }, "page-locked memory grew"},
		"goroutines": {answers, func(r *Reading, i int64) error { r.Goroutines += i; return nil }, "goroutines grew"},
		"errors":     {answers, func(r *Reading, i int64) error { r.Errors = i / 50; return nil }, "counts 2 errors"},
		"before":     {answers, func(r *Reading, _ int64) error { r.Errors = 3; return nil }, ""},
		"unread":     {answers, func(_ *Reading, i int64) error { return map[bool]error{true: errors.New("no door")}[i == 30] }, "no door"},
		"sheds":      {sheds, func(*Reading, int64) error { return nil }, "were rejected"},
		"fails":      {fails, func(*Reading, int64) error { return nil }, "queries failed"},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "steady" && name != "fails" {
				sampletest.SkipRace(t) // the same goroutines as in "steady"
			}
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				i, seen := int64(0), 0
				read := func(context.Context) (Reading, error) {
					i++
					r := Reading{
						HostBytes: 400<<20 + random.Int64N(60<<20), HeapBytes: 100<<20 + random.Int64N(100<<20),
						DeviceBytes: 1 << 30, PinnedBytes: 1 << 28, Goroutines: 40 + random.Int64N(20),
					}
					err := c.change(&r, i)
					return r, err
				}
				p, samples, v, err := Soak(t.Context(), c.target, Options{
					Queries: 1000, Rate: 10, Arrivals: Constant, Warmup: time.Minute, Duration: 20*time.Minute + time.Second, Every: 10 * time.Second, Sleep: time.Sleep,
				}, read, func(Sample) { seen++ })
				if err != nil || p.Sent < 12_000 || len(samples) < 119 || seen != len(samples) {
					t.Fatalf("%d samples of %d queries, %v", len(samples), p.Sent, err)
				}
				if v.Passed != (c.reason == "") || !strings.Contains(strings.Join(v.Reasons, "; "), c.reason) || !v.Passed && len(v.Reasons) != 1 {
					t.Errorf("passed=%t, reasons %q; want %q", v.Passed, v.Reasons, c.reason)
				}
			})
		})
	}
}

// An unreadable state does not end a soak, but fails it.
func TestSoakOfSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := targetFunc(func(context.Context, int) (Outcome, error) { return Answered, nil })
		reads := 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, samples, v, err := Soak(ctx, answers, Options{
			Queries: 1, Rate: 10, Arrivals: Constant, Duration: time.Minute, Timeout: 5 * time.Second, Sleep: time.Sleep,
		}, func(ctx context.Context) (Reading, error) {
			if reads++; reads > 20 {
				<-ctx.Done()
				return Reading{}, ctx.Err()
			}
			return Reading{Goroutines: 1}, nil
		}, nil)
		if err != nil || len(samples) == 0 || v.Passed || !strings.Contains(strings.Join(v.Reasons, "; "), "could not be read") {
			t.Errorf("%d samples, %+v, %v", len(samples), v, err)
		}
	})
}

// Errors before the first reading under load count too.
func TestSoakCountsEarlyErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		answers := targetFunc(func(context.Context, int) (Outcome, error) { return Answered, nil })
		_, _, v, err := Soak(t.Context(), answers, Options{Queries: 1, Rate: 10, Arrivals: Constant, Warmup: time.Minute, Duration: time.Minute, Sleep: time.Sleep},
			func(context.Context) (Reading, error) {
				r := Reading{Goroutines: 1, Errors: 7}
				if time.Since(began) > time.Second {
					r.Errors++
				}
				return r, nil
			}, nil)
		if err != nil || v.Passed || !strings.Contains(strings.Join(v.Reasons, "; "), "counts 1 errors") {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

func TestShortSoak(t *testing.T) {
	v := judge(&Point{Sent: 5, Answered: 5}, Reading{}, make([]Sample, MinSamples-1))
	if v.Passed || len(v.Growth) > 0 || !strings.Contains(v.Reasons[0], "too few") {
		t.Errorf("%+v", v)
	}
	if v := judge(&Point{}, Reading{}, make([]Sample, MinSamples)); v.Passed {
		t.Error("a soak without an answer has passed")
	}
}

func TestReadProcess(t *testing.T) {
	if r := ReadProcess(); r.HostBytes <= 0 || r.HeapBytes <= 0 || r.Goroutines < 1 {
		t.Errorf("%+v", r)
	}
}
