package dispatch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/vfs"
)

// LoadCosts sets Costs to the saved model of this machine with g, which may be nil, and reports
// whether it was measured. If no saved model can be read, or there is nothing to decide, the
// model has built-in times.
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

func (g *GPU) machine() cost.Machine {
	var gpus []string
	for _, d := range g.Stats().Devices {
		gpus = append(gpus, fmt.Sprintf("%s, CUDA %s", d.GPU, d.Driver))
	}
	return cost.Here(gpus)
}

// SaveCosts saves the predictions, with everything learnt, to the folder of an index. Errors
// are of the file system: the folder may be read-only.
func (d *Dispatcher) SaveCosts(fsys vfs.FS, dir string) error {
	return d.costs.Save(fsys, filepath.Join(dir, cost.FileName))
}

const worthSaving = 1000

// CostsChanged reports whether worthSaving observations were made since the predictions were loaded
// or saved.
func (d *Dispatcher) CostsChanged() bool {
	return d != nil && d.gpu != nil && d.costs.Calibrated() && d.costs.Unsaved() >= worthSaving
}
