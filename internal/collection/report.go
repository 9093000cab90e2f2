package collection

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/griffin-search/griffin/internal/contraction"
)

// Report describes a generated collection.
type Report struct {
	Like        string `json:"like"`
	Order       Order  `json:"order"`
	Seed        uint64 `json:"seed"`
	NumDocs     int    `json:"docs"`
	NumQueries  int    `json:"queries"`
	NumTerms    int    `json:"terms"`
	NumPostings int64  `json:"postings"`
	// Span is the mean number of source documents, Keep the share of postings kept; 0 for
	// vectors.
	Span float64 `json:"span,omitempty"`
	Keep float64 `json:"keep,omitempty"`
	// MeanLength is a document's mean tokens, with words outside the log; for vectors, the sum
	// of weights.
	MeanLength float64 `json:"mean_length"`
	// Reached has published statistics with the values reached.
	Reached []Statistic `json:"reached"`
	// Lists has lengths and linearity of lists.
	Lists []ListClass `json:"lists"`
	// TermShares are shares of queries by number of terms, from 1 on.
	TermShares []float64 `json:"term_shares"`

	Queries []Query `json:"-"`
}

// Statistic is a number that describes a collection.
type Statistic struct {
	What    string  `json:"what"`
	Paper   float64 `json:"paper"` // 0: not published
	Reached float64 `json:"reached"`
}

// ListClass describes the lists in a range of lengths.
type ListClass struct {
	From  int     `json:"from"`
	To    int     `json:"to"`    // exclusive; 0: no end
	Lists int     `json:"lists"` // number of lists
	Ratio float64 `json:"ratio"` // mean contraction ratio, 0 if there is no list
	R2    float64 `json:"r2"`    // mean coefficient of determination
}

// Lower bounds: the powers of ten of griffin18 Fig. 10.
var classBounds = []int{1, 1_000, 10_000, 100_000, 1_000_000, 10_000_000}

func newReport(ctx context.Context, o *Options, queries []Query, s *source) (*Report, error) {
	r := &Report{
		Like: o.Like.Name, Order: o.Order, Seed: o.Seed, NumDocs: s.NumDocs(), NumQueries: len(queries), Queries: queries,
	}
	for _, df := range s.docFreqs {
		r.NumPostings += int64(df)
		if df > 0 {
			r.NumTerms++
		}
	}
	tokens := 0.0
	for _, n := range s.lengths {
		tokens += float64(n)
	}
	r.MeanLength = tokens / float64(r.NumDocs)
	scale := float64(r.NumDocs) / float64(o.Like.NumDocs)
	r.Reached = []Statistic{
		{"documents", float64(o.Like.NumDocs), float64(r.NumDocs)},
		{"postings of a query", o.Like.MeanPostings * scale, meanPostings(queries, s.docFreqs)},
		{"postings of its shortest list", o.Like.MeanShortest * scale, meanShortest(queries, s.docFreqs)},
	}
	for i := range queries {
		n := len(queries[i].Terms)
		for len(r.TermShares) < n {
			r.TermShares = append(r.TermShares, 0)
		}
		r.TermShares[n-1] += 1 / float64(len(queries))
	}
	var err error
	r.Lists, err = classify(ctx, s, o.Threads, o.phase("look at the lists"))
	return r, err
}

func (r *Report) addTermShares(published map[int]float64) {
	for n := 1; n <= len(r.TermShares); n++ {
		if share, ok := published[n]; ok {
			r.Reached = append(r.Reached, Statistic{fmt.Sprintf("share of queries of %d terms", n), share, r.TermShares[n-1]})
		}
	}
}

func classify(ctx context.Context, s *source, threads int, progress func(done, total int64)) ([]ListClass, error) {
	linear := make([]contraction.Linearity, len(s.docFreqs))
	var wg sync.WaitGroup
	for w := range threads {
		wg.Go(func() {
			var docIDs []uint32
			for t := w; t < len(linear) && ctx.Err() == nil; t += threads {
				if s.docFreqs[t] >= 2 {
					docIDs = s.docIDs(docIDs[:0], t)
					linear[t] = contraction.Measure(docIDs)
				}
				if w == 0 && t%64 == 0 {
					progress(int64(t), int64(len(linear)))
				}
			}
		})
	}
	wg.Wait()
	classes := make([]ListClass, len(classBounds))
	measured := make([]int, len(classes))
	for t, df := range s.docFreqs {
		for i := len(classBounds) - 1; i >= 0; i-- {
			if int(df) < classBounds[i] {
				continue
			}
			classes[i].Lists++
			if df >= 2 {
				measured[i]++
				classes[i].Ratio += linear[t].Contraction
				classes[i].R2 += linear[t].R2
			}
			break
		}
	}
	for i := range classes {
		classes[i].From = classBounds[i]
		if i+1 < len(classBounds) {
			classes[i].To = classBounds[i+1]
		}
		classes[i].Ratio /= float64(max(1, measured[i]))
		classes[i].R2 /= float64(max(1, measured[i]))
	}
	return classes, ctx.Err()
}

func (s *source) docIDs(dst []uint32, term int) []uint32 {
	for i := range s.chunks {
		run := s.chunks[i].run(term)
		next := uint32(i * chunkDocs)
		for len(run) > 0 {
			gap, _, size := readPosting(run)
			run = run[size:]
			dst = append(dst, next+gap)
			next += gap + 1
		}
	}
	return dst
}

// WriteQueries writes a log: id, tab, text.
func (r *Report) WriteQueries(w io.Writer) error {
	for _, q := range r.Queries {
		if _, err := fmt.Fprintf(w, "%s\t%s\n", q.ID, q.Text); err != nil {
			return err
		}
	}
	return nil
}
