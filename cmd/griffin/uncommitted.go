package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/living"
	"github.com/griffin-search/griffin/internal/vfs"
)

// uncommitted is a part of the JSON of commands that read the last commit.
type uncommitted struct {
	Writes int `json:"uncommitted_writes,omitempty"` // in the log, and not in the last commit
}

// notes is empty without such writes.
func (u uncommitted) notes(dir string) []string {
	if u.Writes == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s in the log of %s: this command reads what is committed. A server shows and commits them (griffin get, export and snapshot have --server); without one, griffin merge %s commits them",
		plural(u.Writes, "write"), dir, dir)}
}

// besides is for the end of a line about the last commit.
func (u uncommitted) besides() string {
	if u.Writes == 0 {
		return ""
	}
	return ", without " + plural(u.Writes, "write") + " in the log"
}

// noteUncommitted warns of writes of the log of the index in dir, which commands that read the last commit
// do not show.
func (a *app) noteUncommitted(dir string) (u uncommitted, err error) {
	ix, err := index.Open(vfs.OS, dir)
	if err != nil {
		return u, err
	}
	n, err := living.Waiting(vfs.OS, ix)
	switch {
	case err != nil:
		a.warnf("the log of %s cannot be read: %v", dir, err)
	case n > 0:
		u.Writes = n
		a.warnf("%s", u.notes(dir)[0])
	}
	return u, ix.Close()
}

// commitLog commits the writes that a process left in the log of the index in dir. If another one
// writes, it warns of them.
func (a *app) commitLog(ctx context.Context, dir string) (u uncommitted, err error) {
	ix, err := index.Open(vfs.OS, dir)
	if err != nil {
		return u, err
	}
	n, err := living.Waiting(vfs.OS, ix)
	if err == nil && n > 0 {
		err = living.Recover(ctx, vfs.OS, ix)
	}
	if errors.Is(err, base.ErrLocked) {
		err, u.Writes = nil, n
		a.warnf("%s in the log of %s, which is in use: not in the snapshot. Use --server, or commit them first, with POST /NAME/_flush", plural(n, "write"), dir)
	}
	return u, errors.Join(err, ix.Close())
}
