package griffin

import (
	"context"

	"github.com/griffin-search/griffin/internal/calibrate"
	"github.com/griffin-search/griffin/internal/vfs"
)

// calibration configures Calibrate; tests shorten it.
var calibration calibrate.Options

// Calibrated reports whether Calibrate would be useless: the cost model of the Runtime was
// calibrated on this machine, or is not needed (no GPU, a policy that does not predict, or an
// index of short lists only).
func (ix *Index) Calibrated() bool {
	if ix.runtime.measured.Load() {
		return true
	}
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return true // it is closed
	}
	defer snapshot.Release()
	return !calibrate.Pays(ix.runtime.dispatcher, snapshot)
}

// Calibrate measures searches of this index on this machine in less than ten seconds, fits the
// cost model of the Runtime to the times, and keeps it in RuntimeOptions.CostDir if that is
// writable. Until then, built-in times apply, corrected by observation. Searches can run
// meanwhile. If the context ends, nothing changes.
func (ix *Index) Calibrate(ctx context.Context, progress func(done, total int64)) (err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Release()
	o := calibration
	o.Progress = progress
	r := ix.runtime
	if err := calibrate.Run(ctx, r.dispatcher, snapshot, o); err != nil {
		return err
	}
	r.measured.Store(r.dispatcher.Costs().Calibrated()) // an empty index has nothing to measure
	_ = r.saveCosts()
	return nil
}

// adoptCosts reads the cost model that an earlier version kept in the folder of an index,
// unless the Runtime has one of this machine.
func (r *Runtime) adoptCosts(dir string) {
	if r.measured.Load() {
		return
	}
	o := r.config
	if o.LoadCosts(vfs.OS, dir, r.dispatcher.GPU()) {
		r.dispatcher.Costs().Adopt(o.Costs)
		r.measured.Store(true)
	}
}
