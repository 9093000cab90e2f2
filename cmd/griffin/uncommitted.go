package main

import (
	"context"
	"errors"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/living"
	"github.com/griffin-search/griffin/internal/vfs"
)

// noteUncommitted notes writes of the log of the index in dir, which commands that read the last commit
// do not show.
func (a *app) noteUncommitted(dir string) error {
	ix, err := index.Open(vfs.OS, dir)
	if err != nil {
		return err
	}
	n, err := living.Waiting(vfs.OS, ix)
	switch {
	case err != nil:
		a.notef("the log of %s cannot be read: %v", dir, err)
	case n > 0:
		a.notef("%s in the log of %s: this command reads what is committed. A server shows and commits them; without one, griffin merge %s commits them", plural(n, "write"), dir, dir)
	}
	return ix.Close()
}

// commitLog commits the writes that a process left in the log of the index in dir. If another one
// writes, it notes them.
func (a *app) commitLog(ctx context.Context, dir string) error {
	ix, err := index.Open(vfs.OS, dir)
	if err != nil {
		return err
	}
	n, err := living.Waiting(vfs.OS, ix)
	if err == nil && n > 0 {
		err = living.Recover(ctx, vfs.OS, ix)
	}
	if errors.Is(err, base.ErrLocked) {
		err = nil
		a.notef("%s in the log of %s, which is in use: not in the snapshot. Use --server, or commit them first, with POST /NAME/_flush", plural(n, "write"), dir)
	}
	return errors.Join(err, ix.Close())
}
