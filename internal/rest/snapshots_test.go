package rest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/backup"
	"github.com/griffin-search/griffin/internal/vfs"
)

func snapshotNode(t *testing.T) *node {
	t.Helper()
	n := newNode(t)
	store := backup.New(vfs.OS, filepath.Join(t.TempDir(), "store"))
	n.d.options.Repositories = map[string]Repository{"nightly": {Location: "the store", Store: store}}
	return n
}

// A snapshot has the acknowledged writes, and is restored under another name beside the index.
func TestSnapshots(t *testing.T) {
	n := snapshotNode(t)
	n.must(201, "PUT /books/_doc/1", `{"title":"Moby Dick"}`) // neither visible nor committed
	a := n.must(200, "PUT /_snapshot/nightly/monday?wait_for_completion=true", `{"indices":"books"}`)
	if at(a, "snapshot.state") != "SUCCESS" || at(a, "snapshot.indices.0") != "books" || at(a, "snapshot.griffin.num_docs") != 1.0 {
		t.Errorf("%v", a)
	}
	n.must(201, "PUT /books/_doc/2", `{"title":"Typee"}`)
	if a := n.must(200, "POST /_snapshot/nightly/tuesday", ""); a["accepted"] != true { // there is one index
		t.Errorf("%v", a)
	}
	all := n.must(200, "GET /_snapshot/nightly/_all", "")
	if at(all, "snapshots.0.snapshot") != "monday" || at(all, "snapshots.1.snapshot") != "tuesday" || at(all, "snapshots.2") != nil {
		t.Errorf("%v", all)
	}
	if one := n.must(200, "GET /_snapshot/nightly/tuesday", ""); at(one, "snapshots.0.griffin.num_docs") != 2.0 || at(one, "snapshots.1") != nil {
		t.Errorf("%v", one)
	}
	a = n.must(200, "POST /_snapshot/nightly/monday/_restore?wait_for_completion=true", `{"indices":["books"],"rename_pattern":"(.+)s","rename_replacement":"old-$1"}`)
	if at(a, "snapshot.indices.0") != "old-book" {
		t.Errorf("%v", a)
	}
	for index, want := range map[string]string{"books": "1 2", "old-book": "1"} {
		n.must(200, "POST /"+index+"/_refresh", "")
		if got := ids(n.must(200, "GET /"+index+"/_search", "")); got != want {
			t.Errorf("%s has %s, want %s", index, got, want)
		}
	}
	if a := n.must(201, "PUT /old-book/_doc/3", `{"title":"Omoo"}`); a["_primary_term"] != 2.0 { // another index may have its numbers
		t.Errorf("%v", a)
	}
	if a := n.must(200, "DELETE /_snapshot/nightly/monday", ""); a["acknowledged"] != true {
		t.Errorf("%v", a)
	}
	n.must(404, "GET /_snapshot/nightly/monday", "")
	if a := n.must(200, "GET /_snapshot", ""); at(a, "nightly.settings.location") != "the store" {
		t.Errorf("%v", a)
	}
	n.must(200, "GET /_snapshot/nightly", "")
}

func TestSnapshotErrors(t *testing.T) {
	n := snapshotNode(t)
	n.must(201, "PUT /a/_doc/1", `{}`)
	n.must(201, "PUT /b/_doc/1", `{}`)
	n.must(200, "PUT /_snapshot/nightly/one", `{"indices":"a"}`)
	for _, c := range []struct {
		target, body string
		status       int
		kind, reason string
	}{
		{"PUT /_snapshot/nightly/two", "", 400, typeIllegalArgument, "name one"},
		{"PUT /_snapshot/nightly/two", `{"indices":"a,b"}`, 400, typeIllegalArgument, "name one"},
		{"PUT /_snapshot/nightly/two", `{"indices":["*"]}`, 400, typeIllegalArgument, "name one"},
		{"PUT /_snapshot/nightly/two", `{"indices":7}`, 400, typeIllegalArgument, "indices"},
		{"PUT /_snapshot/nightly/two", `{"indices":"a","metadata":{}}`, 400, typeIllegalArgument, "metadata"},
		{"PUT /_snapshot/nightly/two", `{`, 400, typeParsing, "body"},
		{"PUT /_snapshot/nightly/two", `{"indices":"c"}`, 404, "index_not_found_exception", "[c]"},
		{"PUT /_snapshot/nightly/one", `{"indices":"a"}`, 400, "invalid_snapshot_name_exception", "already exists"},
		{"PUT /_snapshot/nightly/.x", `{"indices":"a"}`, 400, "invalid_snapshot_name_exception", "letters"},
		{"PUT /_snapshot/weekly/one", `{"indices":"a"}`, 404, "repository_missing_exception", "--repository weekly=STORE"},
		{"PUT /_snapshot/weekly", `{}`, 400, "repository_exception", "--repository"},
		{"GET /_snapshot/weekly", "", 404, "repository_missing_exception", "weekly"},
		{"GET /_snapshot/nightly/one,two", "", 404, "snapshot_missing_exception", "nightly:"},
		{"DELETE /_snapshot/nightly/two", "", 404, "snapshot_missing_exception", "two"},
		{"POST /_snapshot/nightly/two/_restore", "", 404, "snapshot_missing_exception", "two"},
		{"POST /_snapshot/nightly/one/_restore", "", 500, "snapshot_restore_exception", "[a]"},
		{"POST /_snapshot/nightly/one/_restore", `{"indices":"b"}`, 404, "index_not_found_exception", "[b]"},
		{"POST /_snapshot/nightly/one/_restore", `{"rename_pattern":"(","rename_replacement":"x"}`, 400, typeIllegalArgument, "rename_pattern"},
		{"POST /_snapshot/nightly/one/_restore", `{"rename_pattern":".+","rename_replacement":"../x"}`, 400, "invalid_index_name_exception", "../x"},
		{"GET /_snapshot/nightly/one/two", "", 400, typeIllegalArgument, "no handler"},
	} {
		a := n.must(c.status, c.target, c.body)
		if reason, _ := at(a, "error.reason").(string); at(a, "error.type") != c.kind || !strings.Contains(reason, c.reason) {
			t.Errorf("%s %s: %v", c.target, c.body, a)
		}
	}
}

// brokenStore writes a part of an index and fails.
type brokenStore struct{ SnapshotStore }

func (s brokenStore) Restore(_ context.Context, _, dir string, _ func(done, total int64)) (backup.Snapshot, error) {
	return backup.Snapshot{}, errors.Join(os.MkdirAll(filepath.Join(dir, "seg-000001"), 0o755), errors.New("the bucket is gone"))
}

// A restoration that fails leaves nothing.
func TestBrokenRestore(t *testing.T) {
	n := snapshotNode(t)
	n.must(201, "PUT /a/_doc/1", `{}`)
	n.must(200, "PUT /_snapshot/nightly/one", `{"indices":"a"}`)
	n.d.options.Repositories["nightly"] = Repository{Store: brokenStore{n.d.options.Repositories["nightly"].Store}}
	n.must(500, "POST /_snapshot/nightly/one/_restore", `{"rename_pattern":"a","rename_replacement":"b"}`)
	n.must(404, "GET /b/_search", "")
	entries, err := os.ReadDir(n.dir)
	if err != nil || len(entries) != 2 { // a, and MetaFolder
		t.Errorf("%v, %v", entries, err)
	}
}

// A restored index has the settings of the one in the snapshot, also after a restart.
func TestRestoredSettings(t *testing.T) {
	n := snapshotNode(t)
	n.must(200, "PUT /books", `{"settings": {"refresh_interval": "7s", "number_of_replicas": 2, "translog": {"durability": "async", "sync_interval": "9s"}},
		"mappings": {"dynamic": "strict", "date_detection": false, "properties": {"title": {"type": "text", "analyzer": "simple"}}}}`)
	n.must(201, "PUT /books/_doc/1", `{"title": "Moby Dick"}`)
	n.must(200, "PUT /_snapshot/nightly/monday", "")
	before := n.must(200, "GET /books", "")
	n.must(200, "DELETE /books", "")
	n.must(200, "POST /_snapshot/nightly/monday/_restore", `{"rename_pattern": "(.+)", "rename_replacement": "$1_restored"}`)
	for range 2 {
		after := n.must(200, "GET /books_restored", "")
		for _, path := range []string{"mappings", "settings.index.refresh_interval", "settings.index.number_of_replicas", "settings.index.translog"} {
			if got, want := at(after, "books_restored."+path), at(before, "books."+path); want == nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, want %v", path, got, want)
			}
		}
		if uuid := at(after, "books_restored.settings.index.uuid"); uuid == "" || uuid == at(before, "books.settings.index.uuid") {
			t.Errorf("UUID %v", uuid)
		}
		n.must(400, "PUT /books_restored/_doc/2", `{"other": "x"}`)
		n = n.restart()
	}
}

func TestRenameReplacement(t *testing.T) {
	pattern := regexp.MustCompile(`(?P<first>[a-z]+)(-)([0-9])`)
	for java, want := range map[string]string{
		"$1_r": "ab_r", "old_$1": "old_ab", "$3$1": "7ab", "$12": "ab2", "$0x": "ab-7x", "${first}_x": "ab_x", `\\$1\$`: `\ab$`, "plain": "plain", "": "",
	} {
		template, err := replacement(pattern, java)
		if err != nil {
			t.Fatalf("%s: %v", java, err)
		}
		if got := pattern.ReplaceAllString("ab-7", template); got != want {
			t.Errorf("%s: %s, want %s", java, got, want)
		}
	}
	for _, java := range []string{"$", "$x", "$4", "${second}", "${first", `x\`} {
		if got, err := replacement(pattern, java); err == nil || err.Status != 400 {
			t.Errorf("%s: %q, %v", java, got, err)
		}
	}
}
