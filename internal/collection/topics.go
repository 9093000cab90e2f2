package collection

import (
	"context"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/reorder"
)

// The unit of topics, so that an article's passages stay together.
const chapterDocs = 16

// topicOrder puts similar chapters side by side, by recursive graph bisection over terms that
// distinguish topics. A site is a range of it.
func topicOrder(ctx context.Context, f *forward, threads int, progress func(done, total int64)) ([]base.DocID, error) {
	numChapters := (f.numDocs() + chapterDocs - 1) / chapterDocs
	graph := &reorder.Forward{Offsets: make([]uint64, 1, numChapters+1), NumTerms: f.numTerms}
	seen := make([]uint32, f.numTerms) // chapter + 1
	eachTerm := func(c int, do func(term uint32)) {
		from, to := f.starts[c*chapterDocs], f.starts[min((c+1)*chapterDocs, f.numDocs())]
		for _, t := range f.terms[from:to] {
			if seen[t] != uint32(c)+1 {
				seen[t] = uint32(c) + 1
				do(t)
			}
		}
	}
	chaptersWith := make([]uint32, f.numTerms)
	for c := range numChapters {
		eachTerm(c, func(t uint32) { chaptersWith[t]++ })
	}
	clear(seen)
	for c := range numChapters {
		eachTerm(c, func(t uint32) {
			// Terms of nearly all chapters carry no information; terms of a few cost time.
			if n := chaptersWith[t]; n >= 4 && int(n) <= numChapters/4 {
				graph.Terms = append(graph.Terms, t)
			}
		})
		graph.Offsets = append(graph.Offsets, uint64(len(graph.Terms)))
	}
	return reorder.Bisect(ctx, graph, reorder.Options{Threads: threads, MaxRounds: 8, Progress: progress})
}
