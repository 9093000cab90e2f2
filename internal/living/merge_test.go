package living

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// With a limit of merges that is too low for the writes, no write waits, and the number of segments stays bounded. At rest
// the limit holds.
func TestLowMergeLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := vfstest.NewMem()
		ix := create(t, mem, "ix")
		const limit, most = 2 << 10, 40
		s := open(t, mem, ix, Options{MergeBytesPerSecond: limit, MaxSegments: most})
		seen := 0
		for i := range 300 {
			id := fmt.Sprint(i)
			began := time.Now()
			_, err := s.Apply(t.Context(), []Op{{Doc: &corpus.Document{ID: id, Text: strings.Repeat(id+" ", 2000)}}})
			check(t, err)
			if took := time.Since(began); took > 0 {
				t.Fatalf("write %d took %v beside %d segments", i, took, numSegments(ix))
			}
			time.Sleep(time.Second)
			seen = max(seen, numSegments(ix))
		}
		if seen <= most/2 || seen >= most {
			t.Errorf("%d segments: want more than half of %d, but fewer", seen, most)
		}
		for hours := 0; s.slow.doublings.Load() > 0; hours++ { // merges that end change it
			if time.Sleep(time.Hour); hours == 100 {
				t.Fatalf("%d segments after %d hours without a write", numSegments(ix), hours)
			}
		}
		began := time.Now()
		file, err := s.slow.Create("file")
		check(t, err)
		_, err = file.Write(make([]byte, 10*limit))
		check(t, errors.Join(err, file.Close()))
		if took := time.Since(began); took < 9*time.Second {
			t.Errorf("at rest, 10 seconds' bytes took %v", took)
		}
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
	})
}

// The limit doubles with the number of segments.
func TestMergeRate(t *testing.T) {
	f := slowFS{perSecond: 1000}
	for segments, want := range map[int]int64{0: 1000, 50: 1000, 53: 1000, 54: 2000, 63: 16_000, 74: 128_000, 75: 256_000, 500: 256_000} {
		if f.update(segments, 100); f.rate() != want {
			t.Errorf("%d segments: %d bytes a second, want %d", segments, f.rate(), want)
		}
	}
	for _, most := range []int{1, 2, 3} { // no division by 0
		if f.update(most, most); f.rate() < 1000 {
			t.Errorf("%d of %d segments: %d bytes a second", most, most, f.rate())
		}
	}
	f.perSecond = math.MaxInt64
	if f.update(100, 100); f.rate() <= 0 {
		t.Errorf("%d bytes a second", f.rate())
	}
}

// While a merge runs for minutes, in the background or of a call, small segments are merged, and no
// write waits.
func TestSmallMergesBesideLong(t *testing.T) {
	for _, called := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			mem := vfstest.NewMem()
			ix := create(t, mem, "ix")
			s := open(t, mem, ix, Options{MergeBytesPerSecond: 20 << 10, MemoryBytes: 64 << 20})
			numLarge := segmentsPerLevel + 1
			if called {
				numLarge = 2
			}
			for i := range numLarge {
				var ops []Op
				for j := range 4500 / numLarge {
					id := fmt.Sprintf("%d-%d", i, j)
					ops = append(ops, Op{Doc: &corpus.Document{ID: id, Text: strings.Repeat(id+" ", 100)}})
				}
				_, err := s.Apply(t.Context(), ops)
				check(t, err)
				check(t, s.Refresh(t.Context()))
			}
			done := make(chan time.Duration, 1)
			if called {
				go func() {
					began := time.Now()
					if err := s.Merge(t.Context(), 1); err != nil {
						t.Errorf("merge: %v", err)
					}
					done <- time.Since(began)
				}()
			}
			most := 0
			for i := range 300 {
				began := time.Now()
				_, err := s.Apply(t.Context(), []Op{put(fmt.Sprint(i))})
				check(t, err)
				if took := time.Since(began); took > 0 {
					t.Errorf("a write took %v", took)
				}
				time.Sleep(time.Second)
				most = max(most, numSegments(ix))
				if n := s.sizes(t)[0].NumDocs; i == 20 && n >= 4500 {
					t.Fatal("the long merge was short")
				}
			}
			if most > 45 {
				t.Errorf("%d segments beside a long merge", most)
			}
			if called {
				if took := <-done; took < 30*time.Second {
					t.Errorf("the merge took %v", took)
				}
			}
			if n := s.sizes(t)[0].NumDocs; n < 4500 {
				t.Errorf("%d documents in the first segment: want a long merge", n)
			}
			check(t, s.Close(t.Context()))
			check(t, ix.Close())
		})
	}
}

// A merge that somebody asks for makes stored documents smaller, which were compressed quickly when they were written.
func TestMergeCompresses(t *testing.T) {
	t.Parallel()
	mem := vfstest.NewMem()
	ix := create(t, mem, "ix")
	s := open(t, mem, ix, Options{RefreshInterval: -1})
	rng := rand.New(rand.NewPCG(7, 1))
	var phrases []string
	phrase := func() string {
		if n := len(phrases); n > 50 && rng.IntN(7) < 2 { // an earlier one
			return phrases[n-1-rng.IntN(50)]
		}
		letters := make([]byte, 50)
		for i := range letters {
			letters[i] = ' ' + byte(rng.IntN(64))
		}
		phrases = append(phrases, string(letters))
		return string(letters)
	}
	for round := range 2 {
		var ops []Op
		for i := range 500 {
			d := corpus.Document{ID: fmt.Sprint(round, i)}
			for range 20 {
				d.Text += phrase()
			}
			ops = append(ops, Op{Doc: &d})
		}
		_, err := s.Apply(t.Context(), ops)
		check(t, errors.Join(err, s.Refresh(t.Context())))
	}
	before := storedBytes(t, mem, ix)
	check(t, s.Merge(t.Context(), 1))
	if after := storedBytes(t, mem, ix); after > before*19/20 {
		t.Errorf("%d bytes of stored documents, %d after the merge", before, after)
	}
	snapshot, err := ix.Snapshot()
	check(t, err)
	check(t, snapshot.Verify(t.Context(), nil))
	snapshot.Release()
	check(t, errors.Join(s.Close(t.Context()), ix.Close()))
}

// storedBytes is the size of the stored documents of the visible segments.
func storedBytes(t *testing.T, mem *vfstest.Mem, ix *index.Index) (n int) {
	t.Helper()
	snapshot, err := ix.Snapshot()
	check(t, err)
	defer snapshot.Release()
	for i := range snapshot.Segments {
		n += len(mem.Get(filepath.Join("ix", snapshot.Segments[i].Name, "stored")))
	}
	return n
}

// sleepyFS takes a time to create a file.
type sleepyFS struct {
	vfs.FS
	took time.Duration
}

func (f *sleepyFS) Create(name string) (vfs.File, error) {
	time.Sleep(f.took)
	return f.FS.Create(name)
}

// While merges fall behind, the pauses between batches become longer, little by little.
func TestRest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const most = 16
		sleepy := &sleepyFS{vfstest.NewMem(), 0}
		ix := create(t, sleepy, "ix")
		s := open(t, sleepy.FS, ix, Options{MergeBytesPerSecond: 1, MaxSegments: most, RefreshInterval: -1})
		sleepy.took = time.Millisecond
		var took []time.Duration // until a document is visible, by the segments before
		for i := range most + 1 {
			_, err := s.Apply(t.Context(), []Op{put(fmt.Sprint(i))})
			check(t, err)
			began := time.Now()
			check(t, s.Refresh(t.Context()))
			took = append(took, time.Since(began))
		}
		first := took[0]
		for i, d := range took {
			want := first
			if over := i - most*3/4; over > 0 {
				want += 2 * first * time.Duration(over) / (most / 4)
			}
			if d < want*3/4 || d > want*5/4 { // some batches have a file more
				t.Errorf("beside %d segments, a document is visible after %v, want about %v", i, d, want)
			}
		}
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
	})
	for _, c := range []struct {
		took           time.Duration
		segments, most int
		want           time.Duration
	}{
		{time.Second, 75, 100, 0},
		{100 * time.Millisecond, 100, 100, 200 * time.Millisecond},
		{100 * time.Millisecond, 1000, 100, 200 * time.Millisecond},
		{time.Minute, 90, 100, maxRest},
		{time.Millisecond, 1, 1, 2 * time.Millisecond},
		{time.Millisecond, 0, 1, 0},
	} {
		if got := restAfter(c.took, c.segments, c.most); got != c.want {
			t.Errorf("%v, %d of %d segments: a pause of %v, want %v", c.took, c.segments, c.most, got, c.want)
		}
	}
}
