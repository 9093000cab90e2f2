package dispatch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/vfs"
)

// LoadCosts sets Costs to the model of this machine with g that is saved in the folder of
// an index, and reports whether it was measured. If there is none that can be read, or
// nothing to decide, it is one of built-in times. g may be nil.
func (o *Config) LoadCosts(fsys vfs.FS, dir string, g *GPU) (measured bool) {
	machine := g.machine()
	o.CostsErr = nil
	if g != nil || o.limited() {
		m, err := cost.Load(fsys, filepath.Join(dir, cost.FileName), machine)
		if err == nil {
			o.Costs = m
			return m.Calibrated()
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, cost.ErrForeign) {
			o.CostsErr = err
		}
	}
	o.Costs = cost.New(machine)
	return false
}

// machine describes the processors. g may be nil.
func (g *GPU) machine() cost.Machine {
	if g == nil {
		return cost.Here(nil)
	}
	var gpus []string
	for _, d := range g.Stats().Devices {
		gpus = append(gpus, fmt.Sprintf("%s, CUDA %s", d.GPU, d.Driver))
	}
	return cost.Here(gpus)
}

// SaveCosts saves the predictions to the folder of an index, with everything learnt since they were
// loaded. Errors are of the file system: the folder may be read-only.
func (d *Dispatcher) SaveCosts(fsys vfs.FS, dir string) error {
	return d.costs.Save(fsys, filepath.Join(dir, cost.FileName))
}

// worthSaving is the number of observations that are worth a save.
const worthSaving = 1000

// CostsChanged reports whether worthSaving observations were made since the predictions were loaded
// or saved.
func (d *Dispatcher) CostsChanged() bool {
	return d != nil && d.gpu != nil && d.costs.Calibrated() && d.costs.Unsaved() >= worthSaving
}
