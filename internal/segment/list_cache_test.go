package segment

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
)

func TestListCache(t *testing.T) {
	for _, numTerms := range []uint64{0, 1, 100, 1 << 20, 1<<64 - 1} {
		c := newListCache(numTerms)
		if n := len(c.sets); n < 1 || n > maxCacheSets || n&(n-1) != 0 {
			t.Fatalf("%d terms: %d sets", numTerms, n)
		}
		var group sync.WaitGroup
		for worker := range 4 {
			group.Go(func() {
				rng := rand.New(rand.NewPCG(1, uint64(worker)))
				for range 3000 {
					n := 1 + rng.Uint32N(200)
					f, term := base.FieldID(n%3), fmt.Appendf(nil, "term%d", n/3)
					hash := c.hash(f, term)
					if l := c.get(hash, f, term); l != nil && l.DocFreq != n {
						t.Errorf("list of %d documents, want %d", l.DocFreq, n)
						return
					}
					c.put(hash, f, term, &postings.List{Meta: postings.Meta{DocFreq: n}})
				}
			})
		}
		group.Wait()
		for n := range uint32(200) {
			f, term := base.FieldID(n%3), fmt.Appendf(nil, "last%d", n)
			hash := c.hash(f, term)
			put := c.put(hash, f, term, &postings.List{Meta: postings.Meta{DocFreq: n}})
			if l := c.get(hash, f, term); l == nil || l != put || l.DocFreq != n {
				t.Fatalf("%d terms: list %d is not there", numTerms, n)
			}
			if other := f + 1; c.get(c.hash(other, term), other, term) != nil {
				t.Fatalf("list %d is there in another field", n)
			}
		}
	}
}
