package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/backup"
	"github.com/griffin-search/griffin/internal/rest"
)

// serverRepository is a repository of snapshots of a server, which reads and writes the files.
type serverRepository struct{ url string }

var _ rest.SnapshotStore = (*serverRepository)(nil)

func (s *serverFlag) repository(name string) (*serverRepository, error) {
	base, err := s.base()
	if err != nil {
		return nil, err
	}
	if name == "" || strings.Contains(name, "/") {
		return nil, usagef("%q is not the name of a repository of a server (griffin serve --repository NAME=STORE)", name)
	}
	return &serverRepository{base + "/_snapshot/" + url.PathEscape(name)}, nil
}

func (r *serverRepository) call(ctx context.Context, method, snapshot, action string, body, out any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	return callServer(ctx, http.DefaultClient, method, r.url+"/"+url.PathEscape(snapshot)+action, text, out)
}

// Create makes a snapshot of the server's index of the name from.Dir.
func (r *serverRepository) Create(ctx context.Context, from backup.Source, name string, _ func(done, total int64)) (backup.Report, error) {
	var answer struct {
		Snapshot struct {
			Griffin backup.Report `json:"griffin"`
		} `json:"snapshot"`
	}
	if name == "" {
		name = backup.NameAt(time.Now())
	}
	err := r.call(ctx, http.MethodPut, name, "?wait_for_completion=true", map[string]string{"indices": from.Dir}, &answer)
	return answer.Snapshot.Griffin, err
}

func (r *serverRepository) List(ctx context.Context) ([]backup.Snapshot, error) {
	var answer struct {
		Snapshots []struct {
			Griffin backup.Snapshot `json:"griffin"`
		} `json:"snapshots"`
	}
	if err := r.call(ctx, http.MethodGet, "_all", "", nil, &answer); err != nil {
		return nil, err
	}
	all := make([]backup.Snapshot, len(answer.Snapshots))
	for i := range all {
		all[i] = answer.Snapshots[i].Griffin
	}
	return all, nil
}

// Restore makes the server's index of the name dir.
func (r *serverRepository) Restore(ctx context.Context, name, dir string, _ func(done, total int64)) (backup.Snapshot, error) {
	var answer struct {
		Snapshot struct {
			Griffin backup.Snapshot `json:"griffin"`
		} `json:"snapshot"`
	}
	body := map[string]string{"rename_pattern": "^.*$", "rename_replacement": strings.ReplaceAll(dir, "$", "$$")}
	err := r.call(ctx, http.MethodPost, name, "/_restore?wait_for_completion=true", body, &answer)
	return answer.Snapshot.Griffin, err
}

func (r *serverRepository) Delete(ctx context.Context, name string) (freedBytes int64, err error) {
	var answer struct {
		Griffin struct {
			FreedBytes int64 `json:"freed_bytes"`
		} `json:"griffin"`
	}
	err = r.call(ctx, http.MethodDelete, name, "", nil, &answer)
	return answer.Griffin.FreedBytes, err
}
