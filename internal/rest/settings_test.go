package rest

import (
	"errors"
	"fmt"
	"os"
	"strings"
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
	for _, twice := range []string{`{"number_of_replicas":0,"number_of_replicas":1}`, `{"index":{"refresh_interval":"1s"},"index":{"number_of_replicas":0}}`} {
		for _, request := range []string{"PUT /bad", "PUT /unused/_settings"} {
			if out := n.must(400, request, `{"settings":`+twice+`}`); !strings.Contains(fmt.Sprint(at(out, "error.reason")), "duplicate key") {
				t.Errorf("%s with %s: %v", request, twice, out)
			}
		}
	}
	n.must(404, "GET /bad/_settings", "")
	out := n.must(200, "POST /_forcemerge?max_num_segments=1", "")
	if got := at(out, "_shards.successful"); got != 5.0 {
		t.Errorf("%v indexes were merged", got)
	}
}

// Dynamic settings change at once and outlive a restart. Others are errors by name, and then none changes.
func TestPutSettings(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"settings":{"refresh_interval":"-1","number_of_replicas":1}}`)
	n.must(201, "PUT /b/_doc/1", `{"t":"x"}`)
	shown := func(index, name string) any {
		t.Helper()
		return at(n.must(200, "GET /"+index+"/_settings", ""), index+".settings.index."+name)
	}
	// visible reports whether a write of the id becomes visible without a request.
	visible := func(id string, most time.Duration) bool {
		t.Helper()
		n.must(201, "PUT /a/_doc/"+id, `{"t":"x"}`)
		for until := time.Now().Add(most); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
			if n.do("GET /a/_doc/"+id+"?realtime=false", "").Code == 200 {
				return true
			}
		}
		return false
	}
	if visible("1", 1500*time.Millisecond) {
		t.Error("refresh_interval -1 makes writes visible")
	}
	if out := n.must(200, "PUT /a/_settings", `{"index":{"refresh_interval":"20ms","translog":{"durability":"async","sync_interval":"5s"}}}`); out["acknowledged"] != true {
		t.Errorf("%v", out)
	}
	if !visible("2", time.Minute) {
		t.Error("refresh_interval 20ms has no effect")
	}
	for range 2 {
		x, failed := n.d.find("a")
		if failed != nil {
			t.Fatal(failed)
		}
		o, err := x.meta().writer()
		if err != nil || o.Sync != griffin.SyncInterval || o.SyncInterval != 5*time.Second || o.RefreshInterval != 20*time.Millisecond {
			t.Errorf("%+v, %v", o, err)
		}
		if got := shown("a", "refresh_interval"); got != "20ms" {
			t.Errorf("refresh_interval %v", got)
		}
		if got := shown("a", "number_of_replicas"); got != "1" {
			t.Errorf("number_of_replicas %v", got)
		}
		n = n.restart()
	}
	if !visible("3", time.Minute) {
		t.Error("refresh_interval is lost after a restart")
	}

	for body, want := range map[string]string{
		`{"index.number_of_shards":1,"refresh_interval":"7s"}`:                 "Can't update non dynamic settings [[index.number_of_shards]] for open indices [[a/",
		`{"refresh_interval":"7s","analysis":{"analyzer":{"x":{"type":"y"}}}}`: "Can't update non dynamic settings [[index.analysis.analyzer.x.type]] for open indices [[a/",
		`{"settings":{"uuid":"x","creation_date":1}}`:                          "Can't update non dynamic settings [[index.creation_date, index.uuid]] for open indices [[a/",
		`{"refresh_interval":"7s","index":{"max_result_window":5}}`:            "unknown setting [index.max_result_window]: these can be changed: refresh_interval, number_of_replicas, translog.durability, translog.sync_interval",
		`{"refresh_interval":"7s","index.refresh_interval":"8s"}`:              "setting [index.refresh_interval] is given more than once",
		`{"settings":{"refresh_interval":"7s"},"index":{}}`:                    "malformed settings request: [index] is beside [settings]",
		`{"refresh_interval":"7s","translog.durability":"never"}`:              "setting [index.translog.durability] is [never]: want request or async",
		`{"refresh_interval":"7s","translog.sync_interval":"1ms"}`:             "setting [index.translog.sync_interval] is [1ms]: want a time of at least 100ms, such as 5s",
		`{"refresh_interval":"0"}`:                                             "refresh_interval [0]: want a time such as 1s, or -1",
		`{"refresh_interval":["7s"]}`:                                          "setting [refresh_interval] is not a text, a number or a boolean",
		`{}`:                                                                   "Validation Failed: 1: no settings to update;",
		`[]`:                                                                   "the body: ",
		``:                                                                     "the body: ",
	} {
		if got, _ := at(n.must(400, "PUT /a/_settings", body), "error.reason").(string); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", body, got)
		}
		if got := shown("a", "refresh_interval"); got != "20ms" {
			t.Fatalf("%s: refresh_interval %v", body, got)
		}
	}
	n.must(404, "PUT /none/_settings", `{"refresh_interval":"1s"}`)
	n.must(400, "PUT /a/_settings?reopen=true", `{"refresh_interval":"1s"}`)

	n.must(200, "PUT /_settings?preserve_existing=true", `{"refresh_interval":"9s"}`)
	if a, b := shown("a", "refresh_interval"), shown("b", "refresh_interval"); a != "20ms" || b != "9s" {
		t.Errorf("preserve_existing: %v, %v", a, b)
	}
	n.must(200, "PUT /_all/_settings", `{"settings":{"index":{"refresh_interval":null,"number_of_replicas":0,"translog":{"durability":null,"sync_interval":null}}}}`)
	n = n.restart()
	all := n.must(200, "GET /_settings", "")
	for _, index := range []string{"a", "b"} {
		if at(all, index+".settings.index.refresh_interval") != nil || at(all, index+".settings.index.translog") != nil || at(all, index+".settings.index.number_of_replicas") != "0" {
			t.Errorf("reset: %v", at(all, index))
		}
	}
}

// A change of an index that is deleted meanwhile does not change another one with its name.
func TestChangeBesideDelete(t *testing.T) {
	for _, made := range []bool{false, true} {
		n := newNode(t)
		n.must(200, "PUT /a", `{"settings":{"refresh_interval":"2s"}}`)
		x, failed := n.d.find("a")
		if failed != nil {
			t.Fatal(failed)
		}
		n.must(200, "DELETE /a", "")
		if made {
			n.must(200, "PUT /a", `{"settings":{"refresh_interval":"3s"}}`)
		}
		async := "async"
		if failed := n.h.changeSettings(t.Context(), x, map[string]*string{"translog.durability": &async}, false); failed == nil || failed.Status != 404 {
			t.Errorf("settings of an index that was deleted: %v", failed)
		}
		if failed := n.h.changeMapping(t.Context(), x, []byte(`{"dynamic":"strict"}`)); failed == nil || failed.Status != 404 {
			t.Errorf("mapping of an index that was deleted: %v", failed)
		}
		if _, err := os.Stat(n.d.metaFile("a")); made != (err == nil) {
			t.Errorf("made again: %t; its file: %v", made, err)
		}
		n = n.restart()
		if !made {
			n.must(404, "GET /a/_settings", "")
			continue
		}
		settings := at(n.must(200, "GET /a/_settings", ""), "a.settings.index")
		if at(settings, "refresh_interval") != "3s" || at(settings, "translog") != nil {
			t.Errorf("the new index has %v", settings)
		}
	}
}

// A restored index has no settings of an index with its name whose deletion was interrupted.
func TestRestoreAfterInterruptedDelete(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"settings":{"translog.durability":"async"}}`)
	left, err := os.ReadFile(n.d.metaFile("a"))
	if err != nil {
		t.Fatal(err)
	}
	n.must(200, "DELETE /a", "")
	if err := os.WriteFile(n.d.metaFile("a"), left, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.d.restore(t.Context(), "a", nil, func(dir string) error {
		ix, err := griffin.Create(dir, griffin.Settings{}, griffin.Options{})
		if err != nil {
			return err
		}
		return errors.Join(ix.Add(t.Context(), griffin.Document{ID: "1", Text: "x"}), ix.Commit(t.Context()), ix.Close())
	}); err != nil {
		t.Fatal(err)
	}
	if got := at(n.must(200, "GET /a/_settings", ""), "a.settings.index.translog"); got != nil {
		t.Errorf("the restored index has %v", got)
	}
}
