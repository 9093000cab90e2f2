package rest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// The rules of external versions, 0 included: compared with a map, at random, over refreshes, flushes, merges and restarts.
func TestExternalVersions(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 3))
	n := newNode(t)
	n.must(200, "PUT /a", "")
	type document struct {
		version uint64
		exists  bool
	}
	known := map[string]document{} // with those that were deleted since the last restart
	statuses := map[int]int{}
	for step := range 800 {
		id := fmt.Sprint(rng.IntN(6))
		switch rng.IntN(60) {
		case 0:
			n.must(200, "POST /a/_refresh", "")
		case 1:
			n.must(200, "POST /a/_flush", "")
		case 2:
			n.must(200, "POST /a/_forcemerge?max_num_segments=1", "")
		case 3:
			n = n.restart() // it flushes, and the versions of deleted documents are forgotten
			for id, doc := range known {
				if !doc.exists {
					delete(known, id)
				}
			}
		}
		before, seen := known[id]
		version, kind := uint64(rng.IntN(8)), []string{"external", "external_gt", "external_gte", ""}[rng.IntN(4)]
		conflict := seen && (version < before.version || version == before.version && kind != "external_gte")
		query := fmt.Sprintf("?version=%d&version_type=%s", version, kind)
		if kind == "" {
			query, version, conflict = "", before.version+1, false
		}
		target, body := "PUT /a/_doc/"+id+query, `{"t":"x"}`
		want := map[bool]int{false: 201, true: 200}[before.exists]
		if rng.IntN(3) == 0 {
			target, body = "DELETE /a/_doc/"+id+query, ""
			want = map[bool]int{false: 404, true: 200}[before.exists]
		}
		if conflict {
			want = 409
		}
		statuses[want]++
		out := n.must(want, target, body)
		if conflict {
			relation := map[bool]string{true: "higher than", false: "higher or equal to"}[kind == "external_gte"]
			reason := fmt.Sprintf("[%s]: version conflict, current version [%d] is %s the one provided [%d]", id, before.version, relation, version)
			if at(out, "error.reason") != reason {
				t.Fatalf("step %d: %v, want %s", step, out, reason)
			}
		} else {
			if out["_version"] != float64(version) {
				t.Fatalf("step %d: %s %s: %v, want version %d", step, target, body, out, version)
			}
			known[id] = document{version, !strings.HasPrefix(target, "DELETE")}
		}
		if now := known[id]; now.exists {
			if out := n.must(200, "GET /a/_doc/"+id, ""); out["_version"] != float64(now.version) {
				t.Fatalf("step %d: %v, want version %d", step, out, now.version)
			}
		} else {
			n.must(404, "GET /a/_doc/"+id, "")
		}
	}
	n.must(200, "POST /a/_refresh", "")
	hits := at(n.must(200, "POST /a/_search", `{"version":true}`), "hits.hits").([]any)
	for _, hit := range hits {
		if id := at(hit, "_id").(string); at(hit, "_version") != float64(known[id].version) {
			t.Errorf("%v, want version %d", hit, known[id].version)
		}
	}
	for _, status := range []int{200, 201, 404, 409} {
		if statuses[status] < 20 {
			t.Errorf("%d answers had the status %d", statuses[status], status)
		}
	}
}

// What external versions do not go with is an error.
func TestExternalVersionErrors(t *testing.T) {
	n := newNode(t)
	for target, want := range map[string]string{
		"PUT /a/_doc/1?version_type=external":                                           "Validation Failed: 1: version type [external] needs a [version] of at least 0;",
		"PUT /a/_doc/1?version=-1&version_type=external":                                "Failed to parse int parameter [version] with value [-1]",
		"PUT /a/_doc/1?version=9223372036854775808&version_type=external":               "Failed to parse int parameter [version] with value [9223372036854775808]",
		"PUT /a/_doc/1?version=0&version_type=force":                                    "No version type match [force]",
		"PUT /a/_doc/1?version=0":                                                       "Validation Failed: 1: internal versioning can not be used for optimistic concurrency control. Please use `if_seq_no` and `if_primary_term` instead;",
		"PUT /a/_create/1?version=0&version_type=external":                              "Validation Failed: 1: create operations do not support compare and set. use index instead;",
		"PUT /a/_doc/1?version=0&version_type=external&if_seq_no=0&if_primary_term=1":   "Validation Failed: 1: compare and write operations can not use version type [external];",
		"POST /a/_update/1?version=0&version_type=external":                             "request [/a/_update/1] contains unrecognized parameter: [",
		"PUT /a/_doc/1?version_type=external_gte&if_seq_no=0&if_primary_term=1":         "Validation Failed: 1: version type [external_gte] needs a [version] of at least 0;",
		"DELETE /a/_doc/1?version=0&version_type=external&if_seq_no=0&if_primary_term=": "Validation Failed: 1: ifSeqNo and primaryTerm must be set together;",
	} {
		body := `{"doc":{}}`
		if strings.HasPrefix(target, "DELETE") {
			body = ""
		}
		if got, _ := at(n.must(400, target, body), "error.reason").(string); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}

// Versions stay numbers that clients can read.
func TestHighestVersion(t *testing.T) {
	const highest = `"_version":9223372036854775807,`
	n := newNode(t)
	for _, target := range []string{"PUT /a/_doc/1?version=9223372036854775807&version_type=external", "PUT /a/_doc/1", "POST /a/_doc/1", "GET /a/_doc/1", "DELETE /a/_doc/1", "PUT /a/_doc/1"} {
		body := ""
		if !strings.HasPrefix(target, "GET") && !strings.HasPrefix(target, "DELETE") {
			body = `{}`
		}
		if w := n.do(target, body); w.Code > 201 || !strings.Contains(w.Body.String(), highest) {
			t.Errorf("%s: %d, %s", target, w.Code, w.Body)
		}
	}
	n.must(409, "PUT /a/_doc/1?version=9223372036854775807&version_type=external", "{}")
	n.must(200, "PUT /a/_doc/1?version=9223372036854775807&version_type=external_gte", "{}")
}
