package griffin

import (
	"context"

	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/vfs"
)

// WithoutCalibration keeps Create and Open from measuring what searches take on this
// machine. They do so the first time that an index is opened with a GPU, in less than
// ten seconds, and keep the result in the folder of the index. Where nothing was measured
// before, built-in times then decide where searches run, corrected by what is observed: so
// they do in an index that has grown since it was made, until Calibrate is called or it is
// opened again.
func WithoutCalibration() Option { return func(c *config) { c.withoutCalibration = true } }

// calibration is how Calibrate measures; tests make it short.
var calibration exec.CalibrateOptions

// Calibrated reports whether an Index with a GPU was measured on this machine, or is not
// worth it. Calibrate does it. As what is short is not worth it, an Index that was made with
// Create may be Calibrated at first, and after a Commit not any more.
func (ix *Index) Calibrated() bool {
	if ix.measured.Load() {
		return true
	}
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return true // it is closed
	}
	defer snapshot.Release()
	return !ix.dispatcher.Calibrates(snapshot)
}

// Calibrate measures what searches take on the processors of this machine, in less than
// ten seconds, and decides with that where they run. progress, if not nil, is called now
// and then with queries. The result is kept in the folder of the index, if that can be
// written to. Searches may go on meanwhile. If the context ends, all stays as it was.
func (ix *Index) Calibrate(ctx context.Context, progress func(done, total int64)) error {
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Release()
	o := calibration
	o.Progress = progress
	if err := ix.dispatcher.Calibrate(ctx, snapshot, o); err != nil {
		return err
	}
	ix.measured.Store(ix.dispatcher.Costs().Calibrated()) // an empty index has nothing to measure
	_ = ix.dispatcher.SaveCosts(vfs.OS, ix.ix.Dir())      // the folder may be read-only
	return nil
}

// saveCosts keeps what was learnt of the times of searches, if it is worth it.
func (ix *Index) saveCosts() {
	if ix.dispatcher.CostsChanged() {
		_ = ix.dispatcher.SaveCosts(vfs.OS, ix.ix.Dir()) // the folder may be read-only
	}
}
