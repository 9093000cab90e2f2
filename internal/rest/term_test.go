package rest

import (
	"fmt"
	"os"
	"testing"
)

// After a crash that may have lost acknowledged writes, and in an index of a snapshot, writes have a higher term. The
// term and number of a lost write never name another write.
func TestPrimaryTerm(t *testing.T) {
	for _, durability := range []string{"async", "request"} {
		n := newNode(t)
		n.must(200, "PUT /a", fmt.Sprintf(`{"settings":{"index.translog.durability":%q,"index.translog.sync_interval":"1h"}}`, durability))
		n.must(201, "PUT /a/_doc/1", `{"t":"kept"}`)
		n.must(200, "POST /a/_flush", "")
		crashed := t.TempDir()
		if err := os.CopyFS(crashed, os.DirFS(n.dir)); err != nil {
			t.Fatal(err)
		}
		if lost := n.must(201, "PUT /a/_doc/2", `{"t":"lost"}`); lost["_seq_no"] != 1.0 || lost["_primary_term"] != 1.0 {
			t.Errorf("%v", lost)
		}
		n.close()
		n = openNode(t, crashed, Options{})
		term := map[string]float64{"async": 2, "request": 1}[durability]
		if next := n.must(201, "PUT /a/_doc/2", `{"t":"other"}`); next["_seq_no"] != 1.0 || next["_primary_term"] != term {
			t.Errorf("%s: %v, want term %v", durability, next, term)
		}
		want := 409 // the number is of the lost write
		if durability == "request" {
			want = 200 // the copy had none to lose
		}
		n.must(want, "PUT /a/_doc/2?if_seq_no=1&if_primary_term=1", `{"t":"x"}`)
		n.must(200, "PUT /a/_doc/1?if_seq_no=0&if_primary_term=1", `{"t":"new"}`)
		if durability == "async" {
			n.must(200, "PUT /a/_doc/2?if_seq_no=1&if_primary_term=2", `{"t":"x"}`)
			bulk := `{"index":{"_index":"a","_id":"1","if_seq_no":2,"if_primary_term":%d}}` + "\n{}\n"
			if out := n.must(200, "POST /_bulk", fmt.Sprintf(bulk, 1)); at(out, "items.0.index.status") != 409.0 {
				t.Errorf("%v", out)
			}
			if out := n.must(200, "POST /_bulk", fmt.Sprintf(bulk, 2)); at(out, "items.0.index.status") != 200.0 || at(out, "items.0.index._primary_term") != 2.0 {
				t.Errorf("%v", out)
			}
		}
		n = n.restart()
		if next := n.must(201, "PUT /a/_doc/3", `{}`); next["_primary_term"] != term {
			t.Errorf("%s: after a clean end %v, want term %v", durability, next, term)
		}
		if got := n.must(200, "GET /a/_doc/2", ""); got["_primary_term"] != term {
			t.Errorf("%s: %v", durability, got)
		}
	}
}
