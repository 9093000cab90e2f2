package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// The program starts itself again.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "--child") {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestMeasure(t *testing.T) {
	o := options{
		dir: t.TempDir(), profiles: t.TempDir(), docs: 1500, clients: 2, batch: 100, parts: 2, words: 5000,
		logBytes: 150_000, quiet: 50 * time.Millisecond,
	}
	r, err := measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Samples) != 2 || r.Added < o.docs || r.Live <= r.Added-r.Deleted-1 || r.Live >= r.Added || r.Replaced <= r.Deleted {
		t.Errorf("report %+v", r)
	}
	last := r.Samples[1]
	if last.ShowMS <= 0 || last.ShowOneMS <= 0 || last.Segments == 0 || last.HeapBytes == 0 || last.Documents <= r.Samples[0].Documents {
		t.Errorf("sample %+v", last)
	}
	if r.Open.LogBytes != 0 || r.Open.Documents != r.Live {
		t.Errorf("opened after it was closed: %+v", r.Open)
	}
	// The log replays under new ids.
	if r.Replay.LogBytes < o.logBytes || r.Replay.MBPerSecond <= 0 || r.Replay.Documents < r.Live+500 {
		t.Errorf("opened with a log: %+v", r.Replay)
	}
	if left, err := os.ReadDir(o.dir); err != nil || len(left) != 0 {
		t.Errorf("the index is left: %v, %v", left, err)
	}
}

// Of 1,000 words, the first occurs 1/7.49 = 13.4 % of the time, the second half of that.
func TestZipf(t *testing.T) {
	v := newVocabulary(1000)
	const draws = 1 << 20
	counts := map[string]int{}
	for i := range uint64(draws) {
		counts[v.draw(mix(i))]++
	}
	first, second, tenth := counts[word(0)], counts[word(1)], counts[word(9)]
	if share := float64(first) / draws; share < 0.130 || share > 0.137 {
		t.Errorf("the first word has a share of %.4f, want 0.1336", share)
	}
	for n, got := range map[int]int{2: second, 10: tenth} {
		if want := float64(first) / float64(n); float64(got) < 0.95*want || float64(got) > 1.05*want {
			t.Errorf("word %d occurs %d times, want about %.0f", n, got, want)
		}
	}
	if len(counts) != 1000 {
		t.Errorf("%d words occur, want 1000", len(counts))
	}
}

func TestStreams(t *testing.T) {
	words := newVocabulary(1000)
	a, b := stream{clients: 2, words: words}, stream{clients: 2, client: 1, words: words}
	again := stream{clients: 2, words: words}
	ids, live := map[string]bool{}, map[string]bool{}
	size := 0
	for range 13_000 {
		w, n := a.next()
		same, _ := again.next()
		if same.Document.ID != w.Document.ID || same.Document.Text != w.Document.Text || same.Kind != w.Kind {
			t.Fatalf("the same stream gives %+v and %+v", w, same)
		}
		if ids[w.Document.ID] = true; w.Kind == 0 {
			live[w.Document.ID] = true
		} else {
			delete(live, w.Document.ID)
		}
		size += n
		if other, _ := b.next(); ids[other.Document.ID] {
			t.Fatalf("two streams write %s", other.Document.ID)
		}
	}
	if a.live != len(live) || a.counts != [3]int{10_000, 2000, 1000} {
		t.Errorf("%d documents, want %d; writes by kind %v", a.live, len(live), a.counts)
	}
	if mean := size / 12_000; mean < 120 || mean > 150 {
		t.Errorf("documents of %d bytes", mean)
	}
	if w, _ := a.next(); strings.Count(w.Document.Title, " ") != 1 {
		t.Errorf("title %q", w.Document.Title)
	}
}
