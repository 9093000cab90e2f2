package rest

import (
	"testing"
	"time"

	"github.com/griffin-search/griffin"
)

// The settings of the log reach the writer, are shown, and outlive a restart.
func TestDurabilitySettings(t *testing.T) {
	n := newNode(t)
	for _, c := range []struct {
		name, settings string
		sync           griffin.Sync
		interval       time.Duration
		durability     any
		shown          any
	}{
		{"default", `{}`, "", 0, nil, nil},
		{"request", `{"index.translog.durability":"request"}`, "", 0, nil, nil},
		{"async", `{"translog":{"durability":"async"}}`, griffin.SyncAsync, 0, "async", nil},
		{"interval", `{"index":{"translog":{"durability":"async","sync_interval":"100ms"}}}`, griffin.SyncInterval, 100 * time.Millisecond, "async", "100ms"},
		{"unused", `{"index.translog.sync_interval":"5s"}`, "", 0, nil, "5s"},
	} {
		n.must(200, "PUT /"+c.name, `{"settings":`+c.settings+`}`)
		n.must(201, "PUT /"+c.name+"/_doc/1", `{"t":"x"}`)
		for range 2 {
			x, failed := n.d.find(c.name)
			if failed != nil {
				t.Fatal(failed)
			}
			o, err := x.meta().writer()
			if err != nil || o.Sync != c.sync || o.SyncInterval != c.interval {
				t.Errorf("%s: %+v, %v", c.name, o, err)
			}
			for _, path := range []string{"/_settings", ""} {
				out := n.must(200, "GET /"+c.name+path, "")
				if got, every := at(out, c.name+".settings.index.translog.durability"), at(out, c.name+".settings.index.translog.sync_interval"); got != c.durability || every != c.shown {
					t.Errorf("%s%s: %v, %v", c.name, path, got, every)
				}
			}
			n = n.restart()
		}
		n.must(200, "GET /"+c.name+"/_doc/1", "")
	}
	for _, bad := range []string{"99ms", "0", "-1", "x", ""} {
		n.must(400, "PUT /bad", `{"settings":{"index.translog.sync_interval":"`+bad+`"}}`)
	}
	n.must(404, "GET /bad/_settings", "")
	out := n.must(200, "POST /_forcemerge?max_num_segments=1", "")
	if got := at(out, "_shards.successful"); got != 5.0 {
		t.Errorf("%v indexes were merged", got)
	}
}
