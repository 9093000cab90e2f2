package querytest

import (
	"math"
	"slices"
	"testing"
)

// Lengths are as published, and the workload is reproducible.
func TestGov(t *testing.T) {
	const numDocs = GovDocs / 20
	w := Gov(7, numDocs, 512, 2000)
	again := Gov(7, numDocs, 512, 2000)
	sum, terms, left := 0, 0, 0
	for q, query := range w.Queries {
		if !slices.Equal(query, again.Queries[q]) {
			t.Fatalf("query %d: %v, then %v", q, query, again.Queries[q])
		}
		shortest := len(w.Lists[query[0]])
		for _, l := range query {
			shortest = min(shortest, len(w.Lists[l]))
		}
		sum += shortest
		terms += len(query)
		left += len(w.Intersect(query))
	}
	mean, want := float64(sum)/float64(len(w.Queries)), float64(govShortest)/20
	if math.Abs(mean-want) > want/10 {
		t.Errorf("shortest lists have %.0f DocIDs in the mean, want %.0f", mean, want)
	}
	if perQuery := float64(terms) / float64(len(w.Queries)); perQuery < 3.5 || perQuery > 3.8 {
		t.Errorf("%.2f terms a query", perQuery)
	}
	// By Table 4, queries keep about 0.8 K documents of 8.4 K; queries of 2
	// terms keep more.
	if share := float64(left) / float64(sum); share < 0.05 || share > 0.3 {
		t.Errorf("%.3f of shortest lists are in the intersections", share)
	}
	for i, l := range w.Lists {
		if len(l) == 0 || !slices.Equal(l, again.Lists[i]) || int(l[len(l)-1]) >= numDocs {
			t.Fatalf("list %d of %d DocIDs is empty, not the same again, or ends too late", i, len(l))
		}
		for j := 1; j < len(l); j++ {
			if l[j] <= l[j-1] {
				t.Fatalf("list %d does not rise at %d", i, j)
			}
		}
	}
}

func TestIntersect(t *testing.T) {
	for _, c := range []struct {
		lists [][]uint32
		want  []uint32
	}{
		{[][]uint32{{1, 5, 9}}, []uint32{1, 5, 9}},
		{[][]uint32{{13, 16, 17, 40, 50}, {4, 8, 11, 13, 14, 16, 17, 39, 40, 42, 50}, {1, 2, 3, 5, 9, 10, 13, 16, 18, 20, 40, 50}}, []uint32{13, 16, 40, 50}}, // ao11 §2.1
		{[][]uint32{{1, 2}, {}}, nil},
		{[][]uint32{{1, 2}, {3}}, nil},
	} {
		if got := Intersect(c.lists); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.lists, got, c.want)
		}
	}
}

func TestProbes(t *testing.T) {
	w := &Workload{Lists: [][]uint32{{1, 2, 3, 4, 5}, {2, 9}, {1, 2, 4}}}
	for _, c := range []struct {
		query []int
		want  int
	}{
		{[]int{0}, 0},
		{[]int{0, 1, 2}, 3}, // 2 in two lists, 9 in one
		{[]int{2, 0}, 3},
	} {
		if got := w.Probes(c.query); got != c.want {
			t.Errorf("%v takes %d probes, want %d", c.query, got, c.want)
		}
	}
}
