package codec

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// A changed saved walk must change the next chunk: without resumed walks, time would grow with
// 16 to the power of the depth.
func TestRecArrayResumesWalks(t *testing.T) {
	docIDs := make([]uint32, recMaxBlock)
	rng := rand.New(rand.NewPCG(8, 8))
	docID := uint32(0)
	for i := range docIDs {
		docID += 1 + rng.Uint32N(2<<rng.IntN(19))
		docIDs[i] = docID
	}
	for depth := 1; depth <= maxDepth; depth++ {
		t.Run(fmt.Sprintf("depth=%d", depth), func(t *testing.T) { testResumesWalks(t, depth, docIDs) })
	}
}

func testResumesWalks(t *testing.T, depth int, docIDs []uint32) {
	data := PForDeltaRec{Exceptions: 0.9, Depth: depth, Block: recMaxBlock}.AppendList(nil, docIDs)
	var l recList
	if _, err := l.parse(data, len(docIDs)); err != nil {
		t.Fatal(err)
	}
	resumed := map[int]int{} // walks that the chunks resume, by their depth below the list
	r := recExceptions{number: 1}
	if err := r.seek(&l.recArray, 0); err != nil {
		t.Fatal(err)
	}
	var ws walks
	base := NoBase
	for c := range recMaxBlock / BlockLen {
		want := docIDs[c*BlockLen:][:BlockLen]
		for k, w := range ws {
			// A walk after the last exception finds none.
			if changed := ws; w.block != 0 {
				changed[k].next = uint32(len(docIDs))
				if got, err := chunkDocIDs(&l, r, changed, c, base); err != nil || !slices.Equal(got, want) {
					resumed[bits.Len(uint(k))-1]++
				}
			}
		}
		var dst [BlockLen]uint32
		if _, err := l.docIDs(&dst, &r, &ws, c, BlockLen, base); err != nil || !slices.Equal(dst[:], want) {
			t.Fatalf("chunk %d: wrong DocIDs, error %v", c, err)
		}
		base = dst[BlockLen-1]
	}
	for d := 1; d <= depth; d++ {
		if resumed[d] == 0 {
			t.Errorf("no chunk resumes a walk of depth %d", d)
		}
	}
}

// It changes neither r nor ws.
func chunkDocIDs(l *recList, r recExceptions, ws walks, c int, base uint32) ([]uint32, error) {
	var dst [BlockLen]uint32
	n, err := l.docIDs(&dst, &r, &ws, c, BlockLen, base)
	return dst[:n], err
}
