package main

import (
	"context"
	"errors"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/vfs"
)

// calibrateIndex measures what searches take, with a progress bar, if that was not done
// on this machine and the flags do not forbid it.
func (a *app) calibrateIndex(ctx context.Context, d *deviceFlags, ix *griffin.Index) error {
	if d.noCalibrate || ix.Calibrated() {
		return nil
	}
	return a.calibrate(ctx, ix.Calibrate)
}

// newDispatcher returns a dispatcher for the commands that work below the package
// griffin, with what is known of the times of queries, or is measured now. It owns the
// GPU, unless there is an error.
func (a *app) newDispatcher(ctx context.Context, flags *deviceFlags, dir string, snapshot *index.Snapshot, gpu *exec.GPU) (*exec.Dispatcher, error) {
	o := flags.dispatch()
	measured := o.LoadCosts(vfs.OS, dir, gpu)
	a.noteCosts(&o)
	d, err := exec.NewDispatcher(gpu, o)
	if err != nil || measured || flags.noCalibrate || !d.Calibrates(snapshot) {
		return d, err
	}
	return d, a.calibrate(ctx, func(ctx context.Context, progress func(done, total int64)) error {
		err := d.Calibrate(ctx, snapshot, exec.CalibrateOptions{Progress: progress})
		if err == nil {
			_ = d.SaveCosts(vfs.OS, dir) // the folder may be read-only
		}
		return err
	})
}

// noteCosts tells that what was known of the times of queries cannot be read.
func (a *app) noteCosts(o *exec.DispatchOptions) {
	switch err := o.CostsErr; {
	case err == nil:
	case errors.Is(err, base.ErrCorrupt) || errors.Is(err, base.ErrVersion):
		a.notef("what queries take is not known, as it cannot be read (%v); the file is kept as %s when a new one is written", err, cost.OldName)
	default:
		a.notef("what queries take is not known, as it cannot be read, and will not be kept (%v): mend or remove the file", err)
	}
}

// calibrate calls measure with a progress bar. That it fails is no error, but the end of
// the context: built-in times do, too.
func (a *app) calibrate(ctx context.Context, measure func(ctx context.Context, progress func(done, total int64)) error) error {
	a.notef("measuring what queries take on this machine, once, for up to ten seconds (--no-calibrate leaves it out)")
	bar := a.newProgress()
	err := measure(ctx, bar.items("calibrate", "queries"))
	bar.close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		a.notef("what queries take could not be measured, built-in times are used: %v", err)
	}
	return nil
}
