package main

import (
	"context"
	"errors"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/calibrate"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/vfs"
)

// calibrateIndex does nothing if the index was calibrated on this machine or the flags forbid
// it.
func (a *app) calibrateIndex(ctx context.Context, d *deviceFlags, ix *griffin.Index) error {
	if d.noCalibrate || ix.Calibrated() {
		return nil
	}
	return a.calibrate(ctx, ix.Calibrate)
}

// newDispatcher is for commands below the package griffin. It loads the cost model or measures
// one, and owns the GPU unless it returns an error. e is nil for the default engine.
func (a *app) newDispatcher(ctx context.Context, flags *deviceFlags, dir string, snapshot *index.Snapshot, gpu *dispatch.GPU, e engine.Engine) (*dispatch.Dispatcher, error) {
	o := flags.dispatch()
	o.Engine = e
	measured := o.LoadCosts(vfs.OS, dir, gpu)
	noteCosts(a.console, o.CostsErr)
	d, err := dispatch.NewDispatcher(gpu, o)
	if err != nil || measured || flags.noCalibrate || !calibrate.Pays(d, snapshot) {
		return d, err
	}
	return d, a.calibrate(ctx, func(ctx context.Context, progress func(done, total int64)) error {
		err := calibrate.Run(ctx, d, snapshot, calibrate.Options{Progress: progress})
		if err == nil {
			_ = d.SaveCosts(vfs.OS, dir) // the folder may be read-only
		}
		return err
	})
}

func noteCosts(con *console, err error) {
	switch {
	case err == nil:
	case errors.Is(err, base.ErrCorrupt) || errors.Is(err, base.ErrVersion):
		con.notef("the saved query times cannot be read (%v); the file is kept as %s when a new one is written", err, cost.OldName)
	default:
		con.notef("the saved query times cannot be read, and new ones will not be saved (%v): repair or remove the file", err)
	}
}

// If measuring fails, built-in times apply; only a cancelled context is an error.
func (a *app) calibrate(ctx context.Context, measure func(ctx context.Context, progress func(done, total int64)) error) error {
	a.notef("measuring query times on this machine, once, for up to ten seconds (--no-calibrate skips it)")
	bar := a.newProgress()
	err := measure(ctx, bar.items("calibrate", "queries"))
	bar.close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		a.notef("query times could not be measured; built-in times are used: %v", err)
	}
	return nil
}
