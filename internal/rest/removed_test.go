package rest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// No write is acknowledged after the folder of its index was removed from outside, and the error says so. The index can be deleted
// then, and made anew. A folder that was moved and comes back takes writes again.
func TestRemovedFolder(t *testing.T) {
	for _, settings := range []string{"{}", `{"settings":{"index":{"translog":{"durability":"async"}}}}`} {
		n := newNode(t)
		n.must(200, "PUT /a", settings)
		n.must(201, "PUT /a/_doc/1?refresh=true", `{"text":"one"}`)
		folder := filepath.Join(n.dir, "a")
		removed := func(target, body string) {
			t.Helper()
			answer := n.must(503, target, body)
			if reason, _ := at(answer, "error.reason").(string); at(answer, "error.type") != "unavailable_shards_exception" || !strings.Contains(reason, "removed, moved or replaced") {
				t.Errorf("%s: %v", target, answer)
			}
		}
		if err := os.Rename(folder, folder+".moved"); err != nil {
			t.Fatal(err)
		}
		removed("POST /a/_flush", "")
		removed("PUT /a/_doc/2", `{"text":"two"}`)
		if err := os.Rename(folder+".moved", folder); err != nil {
			t.Fatal(err)
		}
		for until := time.Now().Add(20 * time.Second); n.do("PUT /a/_doc/2", `{"text":"two"}`).Code == 503 && time.Now().Before(until); {
			time.Sleep(10 * time.Millisecond)
		}
		n.must(200, "PUT /a/_doc/2?refresh=true", `{"text":"two"}`)
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		if settings == "{}" {
			removed("PUT /a/_doc/3", `{"text":"three"}`)
		} else { // acknowledged before it is synced
			for until := time.Now().Add(20 * time.Second); n.do("PUT /a/_doc/3", `{"text":"three"}`).Code != 503 && time.Now().Before(until); {
				time.Sleep(10 * time.Millisecond)
			}
		}
		removed("DELETE /a/_doc/1", "")
		removed("POST /a/_flush", "")
		items := n.must(200, "POST /a/_bulk", `{"index":{"_id":"4"}}`+"\n"+`{"text":"four"}`+"\n")
		if at(items, "errors") != true {
			t.Errorf("bulk: %v", items)
		}
		if _, err := os.Stat(folder); !os.IsNotExist(err) {
			t.Errorf("the folder was made anew: %v", err)
		}
		n.must(200, "DELETE /a", "")
		n.must(404, "GET /a", "")
		n.must(201, "PUT /a/_doc/1", `{"text":"one"}`)
	}
}
