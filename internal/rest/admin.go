package rest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
)

func createIndex(r *request) (answer, *Error) {
	body, err := r.body()
	if err != nil {
		return answer{}, err
	}
	name := r.PathValue("index")
	if err := checkName(name); err != nil {
		return answer{}, err
	}
	m, err := parseCreate(body)
	if err != nil {
		return answer{}, err
	}
	if _, err := r.h.dir.create(r.Context(), name, m); err != nil {
		return answer{}, err
	}
	return ok(map[string]any{"acknowledged": true, "shards_acknowledged": true, "index": name})
}

func deleteIndex(r *request) (answer, *Error) {
	if err := r.h.dir.remove(r.Context(), r.PathValue("index")); err != nil {
		return answer{}, err
	}
	return ok(map[string]any{"acknowledged": true})
}

func getIndex(r *request) (answer, *Error) {
	x, err := r.h.dir.find(r.PathValue("index"))
	if err != nil {
		return answer{}, err
	}
	return ok(map[string]any{x.name: map[string]any{
		"aliases": map[string]any{}, "mappings": x.meta().mappings(), "settings": x.meta().settingsAnswer(x.name),
	}})
}

// each runs f for the index of the path, or for all.
func (r *request) each(f func(ctx context.Context, x *Index) error) (answer, *Error) {
	names := []string{r.PathValue("index")}
	if names[0] == "" || names[0] == "_all" {
		names = r.h.dir.Names()
	}
	ctx := r.Context() // merges take long
	done := 0
	for _, name := range names {
		x, err := r.h.dir.find(name)
		if err != nil {
			return answer{}, err
		}
		if err := f(ctx, x); err != nil {
			return answer{}, r.h.explain(ctx, x, err)
		}
		done++
	}
	return ok(map[string]any{"_shards": shards{Total: done, Successful: done}})
}

func refreshIndex(r *request) (answer, *Error) { return r.each(r.h.refresh) }

func flushIndex(r *request) (answer, *Error) {
	return r.each(func(ctx context.Context, x *Index) error { return x.writer.Flush(ctx) })
}

func mergeIndex(r *request) (answer, *Error) {
	n, given, err := r.number("max_num_segments")
	if err != nil {
		return answer{}, err
	}
	if given && (n == 0 || n > 1<<20) {
		return answer{}, illegal("max_num_segments [%d]: want 1 or more", n)
	}
	flush, err := r.boolean("flush", true)
	if err != nil {
		return answer{}, err
	}
	_ = http.NewResponseController(r.w).SetWriteDeadline(time.Time{}) // a merge has no limit
	return r.each(func(ctx context.Context, x *Index) error {
		if err := x.writer.Merge(ctx, int(n)); err != nil || !flush {
			return err
		}
		return x.writer.Flush(ctx)
	})
}

// version of OpenSearch whose API this is a part of.
const version = "2.19.0"

func root(*request) (answer, *Error) {
	return ok(map[string]any{
		"name": "griffin", "cluster_name": "griffin", "cluster_uuid": "griffin",
		"version": map[string]any{
			"distribution": "opensearch", "number": version, "build_type": "griffin", "build_hash": griffin.Version,
			"build_snapshot": false, "lucene_version": "9.12.1",
			"minimum_wire_compatibility_version": "7.10.0", "minimum_index_compatibility_version": "7.0.0",
		},
		"tagline": "The OpenSearch Project: https://opensearch.org/",
	})
}

// healthOf: green, yellow if replicas are wanted, red if it cannot be opened for searches or for writes, or if a file is damaged.
func healthOf(x *Index) string {
	switch {
	case x.err != nil || x.damaged.Load() || isDown(x):
		return "red"
	case x.meta().Replicas > 0:
		return "yellow"
	}
	return "green"
}

// isDown reports whether the index takes no writes until it can be opened again. Until then, searches do not see writes
// that only the log has.
func isDown(x *Index) bool {
	_, err := x.writer.Mapping()
	return errors.Is(err, griffin.ErrDown)
}

// Damaged returns the names of the indexes of which a request met a damaged file.
func (d *Directory) Damaged() (names []string) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for name, x := range d.indexes {
		if x.damaged.Load() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// NoteDamage notes that a request met a damaged file of an index.
func (d *Directory) NoteDamage(name string) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if x := d.indexes[name]; x != nil {
		x.damaged.Store(true)
	}
}

// list returns the indexes of the path, or all, in the order of their names.
func (r *request) list() ([]*Index, *Error) {
	d := r.h.dir
	d.mu.RLock()
	defer d.mu.RUnlock()
	name := r.PathValue("index")
	var out []*Index
	for _, x := range d.indexes {
		if name == "" || name == "_all" || name == x.name {
			out = append(out, x)
		}
	}
	if len(out) == 0 && name != "" && name != "_all" {
		return nil, indexNotFound(name)
	}
	base.Sort(out, func(a, b *Index) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

func health(r *request) (answer, *Error) {
	all, err := r.list()
	if err != nil {
		return answer{}, err
	}
	status, active, replicas := "green", 0, 0
	for _, x := range all {
		h := healthOf(x)
		if h == "red" || h == "yellow" && status == "green" {
			status = h
		}
		if h != "red" {
			active++
		}
		replicas += x.meta().Replicas
	}
	percent := 100.0
	if wanted := replicas + len(all); wanted > 0 {
		percent *= float64(active) / float64(wanted)
	}
	return ok(map[string]any{
		"cluster_name": "griffin", "status": status, "timed_out": false, "number_of_nodes": 1, "number_of_data_nodes": 1,
		"discovered_master": true, "discovered_cluster_manager": true,
		"active_primary_shards": active, "active_shards": active, "relocating_shards": 0, "initializing_shards": 0,
		"unassigned_shards": replicas + len(all) - active, "delayed_unassigned_shards": 0,
		"number_of_pending_tasks": 0, "number_of_in_flight_fetch": 0, "task_max_waiting_in_queue_millis": 0,
		"active_shards_percent_as_number": percent,
	})
}
