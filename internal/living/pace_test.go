package living

import (
	"math"
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	var p pace
	start := time.Now()
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * 1e9)) }
	if n := p.room(time.Second); n != math.MaxInt64 {
		t.Errorf("room for %d bytes before the first batch", n)
	}
	p.published(at(0), at(1), 40<<20)
	if n := p.room(time.Second); n != 24<<20 {
		t.Errorf("room for %d bytes at 40 MiB/s", n)
	}
	if n := p.room(math.MaxInt64); n < 1<<40 {
		t.Errorf("room of an interval that never ends: %d", n)
	}
	if n := p.room(-1); n != math.MaxInt64 {
		t.Errorf("room for %d bytes without an interval", n)
	}
	p.published(at(1), at(1.01), 0)
	p.published(at(0.5), at(2), 20<<20) // began beside the one before, which took the processors
	if n := p.room(time.Second); n != 18<<20 {
		t.Errorf("room for %d bytes at 30 MiB/s", n)
	}
	for i := range 20 {
		p.published(at(float64(10*i+10)), at(float64(10*i+20)), 1<<20)
	}
	if n := p.room(time.Second); n != minRoom {
		t.Errorf("room for %d bytes at a low rate", n)
	}
}
