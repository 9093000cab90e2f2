package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/backup"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Repository is a place of snapshots. Clients know its name only: a server copies files to no place
// that its owner has not named.
type Repository struct {
	Location string // for answers
	Store    SnapshotStore
}

// SnapshotStore is a backup.Store or backup.Bucket.
type SnapshotStore interface {
	Create(ctx context.Context, from backup.Source, name string, progress func(done, total int64)) (backup.Report, error)
	List(ctx context.Context) ([]backup.Snapshot, error)
	Restore(ctx context.Context, name, dir string, progress func(done, total int64)) (backup.Snapshot, error)
	Delete(ctx context.Context, name string) (freedBytes int64, err error)
}

var (
	_ SnapshotStore = (*backup.Store)(nil)
	_ SnapshotStore = (*backup.Bucket)(nil)
)

func snapshotRoutes(route func(pattern string, f action, parameters ...string)) {
	route("GET /_snapshot", bodiless(getRepositories))
	route("GET /_snapshot/{repository}", bodiless(getRepositories))
	route("GET /_snapshot/{repository}/{snapshot}", bodiless(getSnapshots), "verbose")
	for _, method := range []string{"PUT", "POST"} {
		route(method+" /_snapshot/{repository}", putRepository, "verify")
		route(method+" /_snapshot/{repository}/{snapshot}", createSnapshot, "wait_for_completion")
	}
	route("POST /_snapshot/{repository}/{snapshot}/_restore", restoreSnapshot, "wait_for_completion")
	route("DELETE /_snapshot/{repository}/{snapshot}", bodiless(deleteSnapshot))
	route("/", noRoute)
}

// snapshotInfo is the answer about a snapshot. Details has Griffin's own description.
type snapshotInfo struct {
	Snapshot string   `json:"snapshot"`
	UUID     string   `json:"uuid"`
	State    string   `json:"state"`
	Indices  []string `json:"indices"`
	Start    string   `json:"start_time"`
	StartMS  int64    `json:"start_time_in_millis"`
	Shards   shards   `json:"shards"`
	Details  any      `json:"griffin"`
}

func infoOf(s *backup.Snapshot, details any) snapshotInfo {
	info := snapshotInfo{
		Snapshot: s.Name, UUID: fmt.Sprintf("%s-%d", s.IndexID, s.Generation), State: "SUCCESS", Indices: []string{},
		Start: s.Created.UTC().Format("2006-01-02T15:04:05.000Z"), StartMS: s.Created.UnixMilli(), Shards: oneShard, Details: details,
	}
	if s.Index != "" {
		info.Indices = append(info.Indices, s.Index)
	}
	return info
}

func getRepositories(r *request) (answer, *Error) {
	names := slices.Sorted(maps.Keys(r.h.dir.options.Repositories))
	if name := r.PathValue("repository"); name != "" && name != "_all" && name != "*" {
		if _, err := r.repository(); err != nil {
			return answer{}, err
		}
		names = []string{name}
	}
	all := map[string]any{}
	for _, name := range names {
		all[name] = map[string]any{"type": "griffin", "settings": map[string]string{"location": r.h.dir.options.Repositories[name].Location}}
	}
	return ok(all)
}

func putRepository(r *request) (answer, *Error) {
	return answer{}, badRequest("repository_exception", "[%s] repositories are options of the server: griffin serve --repository NAME=STORE", r.PathValue("repository"))
}

func (r *request) repository() (SnapshotStore, *Error) {
	name := r.PathValue("repository")
	if s, found := r.h.dir.options.Repositories[name]; found {
		return s.Store, nil
	}
	return nil, &Error{Status: http.StatusNotFound, Type: "repository_missing_exception", Reason: fmt.Sprintf("[%s] missing: the server was started without --repository %s=STORE", name, name)}
}

// snapshot describes the one of the path.
func (r *request) snapshot(store SnapshotStore) (backup.Snapshot, *Error) {
	all, err := store.List(r.Context())
	if err != nil {
		return backup.Snapshot{}, r.explainSnapshot(err)
	}
	i := slices.IndexFunc(all, func(s backup.Snapshot) bool { return s.Name == r.PathValue("snapshot") })
	if i < 0 {
		return backup.Snapshot{}, r.explainSnapshot(griffin.ErrNotFound)
	}
	return all[i], nil
}

// explainSnapshot is the answer to an error about a snapshot.
func (r *request) explainSnapshot(err error) *Error {
	at := fmt.Sprintf("[%s:%s]", r.PathValue("repository"), r.PathValue("snapshot"))
	switch {
	case errors.Is(err, griffin.ErrNotFound):
		return &Error{Status: http.StatusNotFound, Type: "snapshot_missing_exception", Reason: at + " is missing"}
	case errors.Is(err, base.ErrExists):
		return badRequest("invalid_snapshot_name_exception", "%s snapshot with the same name already exists", at)
	case errors.Is(err, base.ErrLocked):
		return &Error{Status: http.StatusServiceUnavailable, Type: "concurrent_snapshot_execution_exception", Reason: at + " another snapshot is being made in this repository"}
	case errors.Is(err, backup.ErrNotStore):
		return badRequest("repository_exception", "[%s] %s", r.PathValue("repository"), base.Message(err))
	case errors.Is(err, base.ErrBadInput):
		return badRequest("invalid_snapshot_name_exception", "%s %s", at, base.Message(err))
	case errors.Is(err, griffin.ErrClosed):
		return &Error{Status: http.StatusServiceUnavailable, Type: "node_closed_exception", Reason: "the server is stopping", RetryAfter: time.Second}
	case r.Context().Err() != nil:
		return &Error{Status: statusClientGone, Type: "client_gone", Reason: "the client left"}
	}
	r.h.log.Error("work on a snapshot failed", "snapshot", at, "error", err)
	return &Error{Status: http.StatusInternalServerError, Type: "snapshot_exception", Reason: at + " failed; the reason is in the server's log"}
}

// snapshotBody is the body of requests to make and to restore snapshots.
type snapshotBody struct {
	Indices     json.RawMessage `json:"indices"`
	Pattern     string          `json:"rename_pattern"`
	Replacement string          `json:"rename_replacement"`
	// These change nothing: there is no global state, and there are no aliases.
	GlobalState       bool `json:"include_global_state"`
	Aliases           bool `json:"include_aliases"`
	IgnoreUnavailable bool `json:"ignore_unavailable"`
	Partial           bool `json:"partial"`
}

func (r *request) snapshotBody(allowed ...string) (b snapshotBody, index string, err *Error) {
	text, err := r.body()
	if err != nil || len(text) == 0 {
		return b, "", err
	}
	keys, parseErr := objectKeys(text)
	if parseErr == nil {
		parseErr = json.Unmarshal(text, &b)
	}
	if parseErr != nil {
		return b, "", badRequest(typeParsing, "the body: %v", parseErr)
	}
	for _, key := range keys {
		if !slices.Contains(allowed, key) {
			return b, "", illegal("Unknown parameter %s", key)
		}
	}
	names := []string{}
	if len(b.Indices) > 0 && json.Unmarshal(b.Indices, &names) != nil {
		var list string
		if json.Unmarshal(b.Indices, &list) != nil {
			return b, "", illegal("malformed indices section, should be an array of strings")
		}
		names = strings.Split(list, ",")
	}
	if len(names) > 1 || len(names) == 1 && strings.ContainsAny(names[0], "*?,") {
		return b, "", illegal("a snapshot has one index: name one in [indices]")
	}
	if len(names) == 1 {
		index = names[0]
	}
	return b, index, nil
}

func createSnapshot(r *request) (answer, *Error) {
	store, err := r.repository()
	if err != nil {
		return answer{}, err
	}
	wait, err := r.boolean("wait_for_completion", false)
	if err != nil {
		return answer{}, err
	}
	_, index, err := r.snapshotBody("indices", "include_global_state", "ignore_unavailable", "partial")
	if err != nil {
		return answer{}, err
	}
	if names := r.h.dir.Names(); index == "" && len(names) == 1 {
		index = names[0]
	}
	if index == "" {
		return answer{}, illegal("a snapshot has one index: name one in [indices]")
	}
	x, err := r.h.dir.find(index)
	if err != nil {
		return answer{}, err
	}
	r.withoutDeadline()
	if err := x.writer.Flush(r.Context()); err != nil {
		return answer{}, r.h.explain(r.Context(), x, err)
	}
	settings, encodeErr := json.Marshal(x.meta())
	if encodeErr != nil {
		return answer{}, r.explainSnapshot(encodeErr)
	}
	from := backup.Source{Dir: filepath.Join(r.h.dir.dir, index), Settings: settings}
	report, createErr := store.Create(r.Context(), from, r.PathValue("snapshot"), nil)
	if createErr != nil {
		return answer{}, r.explainSnapshot(createErr)
	}
	r.h.log.Info("a snapshot was made", "index", index, "repository", r.PathValue("repository"), "snapshot", report.Name)
	if !wait {
		return ok(map[string]any{"accepted": true})
	}
	return ok(map[string]any{"snapshot": infoOf(&report.Snapshot, report)})
}

func getSnapshots(r *request) (answer, *Error) {
	store, err := r.repository()
	if err != nil {
		return answer{}, err
	}
	all, listErr := store.List(r.Context())
	if listErr != nil {
		return answer{}, r.explainSnapshot(listErr)
	}
	infos := []snapshotInfo{}
	if asked := r.PathValue("snapshot"); asked != "_all" && asked != "*" {
		for name := range strings.SplitSeq(asked, ",") {
			i := slices.IndexFunc(all, func(s backup.Snapshot) bool { return s.Name == name })
			if i < 0 {
				return answer{}, r.explainSnapshot(griffin.ErrNotFound)
			}
			infos = append(infos, infoOf(&all[i], all[i]))
		}
		return ok(map[string]any{"snapshots": infos})
	}
	for i := range all {
		infos = append(infos, infoOf(&all[i], all[i]))
	}
	return ok(map[string]any{"snapshots": infos})
}

func deleteSnapshot(r *request) (answer, *Error) {
	store, err := r.repository()
	if err != nil {
		return answer{}, err
	}
	if _, err := r.snapshot(store); err != nil {
		return answer{}, err
	}
	r.withoutDeadline()
	freed, deleteErr := store.Delete(r.Context(), r.PathValue("snapshot"))
	if deleteErr != nil {
		return answer{}, r.explainSnapshot(deleteErr)
	}
	return ok(map[string]any{"acknowledged": true, "griffin": map[string]int64{"freed_bytes": freed}})
}

func restoreSnapshot(r *request) (answer, *Error) {
	store, err := r.repository()
	if err != nil {
		return answer{}, err
	}
	wait, err := r.boolean("wait_for_completion", false)
	if err != nil {
		return answer{}, err
	}
	b, index, err := r.snapshotBody("indices", "rename_pattern", "rename_replacement", "include_global_state", "include_aliases", "ignore_unavailable", "partial")
	if err != nil {
		return answer{}, err
	}
	snapshot, err := r.snapshot(store)
	if err != nil {
		return answer{}, err
	}
	if index != "" && index != snapshot.Index {
		return answer{}, indexNotFound(index)
	}
	name := snapshot.Index
	if b.Pattern != "" {
		pattern, regexpErr := regexp.Compile(b.Pattern)
		if regexpErr != nil {
			return answer{}, illegal("rename_pattern: %v", regexpErr)
		}
		template, err := replacement(pattern, b.Replacement)
		if err != nil {
			return answer{}, err
		}
		name = pattern.ReplaceAllString(name, template)
	}
	r.withoutDeadline()
	if err := r.h.dir.restore(r.Context(), name, snapshot.Settings, func(dir string) error {
		_, err := store.Restore(r.Context(), snapshot.Name, dir, nil)
		return err
	}); err != nil {
		var known *Error
		if errors.As(err, &known) {
			return answer{}, known
		}
		return answer{}, r.explainSnapshot(err)
	}
	if !wait {
		return ok(map[string]any{"accepted": true})
	}
	return ok(map[string]any{"snapshot": map[string]any{"snapshot": snapshot.Name, "indices": []string{name}, "shards": oneShard, "griffin": snapshot}})
}

// replacement translates a replacement string from Java's syntax, which OpenSearch uses, to the syntax of package regexp.
// In Java a letter ends the number of a group, and a digit belongs to the number only if a group of this number exists.
func replacement(pattern *regexp.Regexp, java string) (string, *Error) {
	var out strings.Builder
	for i := 0; i < len(java); i++ {
		switch c := java[i]; {
		case c == '\\' && i+1 < len(java):
			i++
			out.WriteString(strings.ReplaceAll(java[i:i+1], "$", "$$"))
		case c == '$' && strings.HasPrefix(java[i:], "${"):
			name, _, closed := strings.Cut(java[i+2:], "}")
			if !closed || pattern.SubexpIndex(name) < 0 {
				return "", illegal("rename_replacement [%s]: no group of the name [%s]", java, name)
			}
			out.WriteString("${" + name + "}")
			i += len(name) + 2
		case c == '$':
			group, digits := 0, 0
			for ; i+1+digits < len(java); digits++ {
				d := int(java[i+1+digits]) - '0'
				if d < 0 || d > 9 || digits > 0 && 10*group+d > pattern.NumSubexp() {
					break
				}
				group = 10*group + d
			}
			if digits == 0 || group > pattern.NumSubexp() {
				return "", illegal("rename_replacement [%s]: want the number of a group of [%s] after $", java, pattern)
			}
			fmt.Fprintf(&out, "${%d}", group)
			i += digits
		case c == '\\':
			return "", illegal("rename_replacement [%s]: want a character after \\", java)
		default:
			out.WriteByte(c)
		}
	}
	return out.String(), nil
}

// withoutDeadline takes the time limit from a request.
func (r *request) withoutDeadline() {
	c := http.NewResponseController(r.w)
	_ = c.SetReadDeadline(time.Time{}) // tests have writers without deadlines
	_ = c.SetWriteDeadline(time.Time{})
}

// restore makes an index of the files that fill writes to a new folder, with the settings of a snapshot, if it has any. The
// index appears at the end.
func (d *Directory) restore(ctx context.Context, name string, settings json.RawMessage, fill func(dir string) error) error {
	if err := checkName(name); err != nil {
		return err
	}
	taken := &Error{
		Status: http.StatusInternalServerError, Type: "snapshot_restore_exception", Index: name,
		Reason: fmt.Sprintf("cannot restore index [%s] because an open index with same name already exists in the cluster; use rename_pattern and rename_replacement", name),
	}
	m := meta{}
	if settings != nil {
		if err := json.Unmarshal(settings, &m); err != nil {
			return fmt.Errorf("settings of the snapshot: %w: %w", err, griffin.ErrCorrupt)
		}
		m.UUID, m.Created = newID(), time.Now().UTC()
	}
	if _, err := d.find(name); err == nil || err.Status != http.StatusNotFound {
		return taken
	}
	staged := filepath.Join(d.dir, deletedPrefix+newID()) // removed when the directory is opened
	if err := fill(staged); err != nil {
		return errors.Join(err, os.RemoveAll(staged))
	}
	d.making.Lock()
	defer d.making.Unlock()
	d.mu.RLock()
	x, closed := d.indexes[name], d.closed
	d.mu.RUnlock()
	switch {
	case closed:
		return errors.Join(griffin.ErrClosed, os.RemoveAll(staged))
	case x != nil:
		return errors.Join(taken, os.RemoveAll(staged))
	}
	err := os.RemoveAll(d.metaFile(name)) // of an index whose deletion was interrupted
	if err == nil && settings != nil {
		err = d.writeMeta(name, m)
	}
	if err == nil {
		err = vfs.OS.Rename(staged, filepath.Join(d.dir, name))
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(staged))
	}
	if err := vfs.OS.SyncDir(d.dir); err != nil {
		return err
	}
	if x, err = d.open(context.WithoutCancel(ctx), name); err != nil {
		return err
	}
	d.mu.Lock()
	d.indexes[name] = x
	d.mu.Unlock()
	d.log.Info("an index was restored", "index", name)
	return nil
}
