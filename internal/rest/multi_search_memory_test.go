package rest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// multiSearchNode has an index of random documents.
func multiSearchNode(t testing.TB, rng *rand.Rand, numDocs int) *node {
	t.Helper()
	n := newNode(t)
	n.must(200, "PUT /a", `{"settings":{"refresh_interval":"-1","translog.durability":"async"}}`)
	var body strings.Builder
	for id := range numDocs {
		fmt.Fprintf(&body, `{"index":{"_id":"%d"}}`+"\n"+`{"t":"`, id)
		for range 30 {
			body.WriteString(randomWord(rng))
			body.WriteByte(' ')
		}
		body.WriteString("\"}\n")
		if body.Len() > 4<<20 || id == numDocs-1 {
			n.must(200, "POST /a/_bulk?refresh=true", body.String())
			body.Reset()
		}
	}
	return n
}

// randomWord is one of 2,000, the first ones more often.
func randomWord(rng *rand.Rand) string { return fmt.Sprint("w", rng.IntN(1+rng.IntN(2000))) }

func decoded(t testing.TB, text []byte) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &out); err != nil {
		t.Errorf("%v: %.200s", err, text)
	}
	return out
}

// Multi-searches at the same time, which keep the memory of former ones, answer as the searches alone do.
func TestMultiSearchInKeptMemory(t *testing.T) {
	n := multiSearchNode(t, rand.New(rand.NewPCG(20, 3)), 2000)
	withoutTime := func(answer map[string]any) string {
		delete(answer, "took")
		delete(answer, "status")
		return fmt.Sprint(answer)
	}
	var wait sync.WaitGroup
	for client := range uint64(4) {
		wait.Go(func() {
			rng := rand.New(rand.NewPCG(20, client))
			for range 12 {
				var searches []string
				var body strings.Builder
				for range 1 + rng.IntN(60) {
					search := fmt.Sprintf(`{"query":{"match":{"t":"%s %s"}},"size":%d,"from":%d,"_source":%t}`, randomWord(rng), randomWord(rng), rng.IntN(30), rng.IntN(3), rng.IntN(2) == 0)
					switch rng.IntN(8) {
					case 0:
						search = fmt.Sprintf(`{"query":{"match":{"t":"%s"}},"sort":["_doc"]}`, randomWord(rng))
					case 1:
						search = `{"query":{"match":{"none":"x"}}}`
					}
					searches = append(searches, search)
					body.WriteString("{}\n" + search + "\n")
				}
				w := n.do("POST /a/_msearch", body.String())
				out := decoded(t, w.Body.Bytes())
				for i, search := range searches {
					got, _ := at(out, "responses").([]any)[i].(map[string]any)
					dropLine(t, got)
					want := decoded(t, n.do("POST /a/_search", search).Body.Bytes())
					if withoutTime(got) != withoutTime(want) {
						t.Errorf("%s:\n%v, alone\n%v", search, got, want)
						return
					}
				}
			}
		})
	}
	wait.Wait()
}
