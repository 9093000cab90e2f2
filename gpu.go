package griffin

import (
	"context"
	"errors"

	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/vfs"
)

// WithDevice chooses where searches of this Index run: "cpu" (the default); "gpu",
// all GPUs that can be used; "auto", those if there are any; or numbers of GPUs such
// as "0" or "0,1". Create and Open then fail if there is none, but for "auto". What a
// GPU cannot answer runs on the CPU; answers are identical, ties included. Opening a
// GPU takes a third of a second.
func WithDevice(device string) Option { return func(c *config) { c.gpu.Device = device } }

// WithGPUMemory bounds what posting lists take of each GPU's memory: bytes, with a
// unit if need be ("40GiB"), or per cent of the size that the index's posting lists have
// when it is opened ("10%"; none of a new index). The default is most of what is free. With less than the lists that are
// asked for, those of the greatest benefit stay, and others come and go.
func WithGPUMemory(size string) Option { return func(c *config) { c.gpu.Memory = size } }

// WithGPUHostMemory bounds the page-locked memory of the host that posting lists may take,
// from where GPUs read what they have no room for: bytes or per cent as WithGPUMemory, or
// "0" for none. The default is half of the memory that is available.
func WithGPUHostMemory(size string) Option { return func(c *config) { c.gpu.HostMemory = size } }

// WithCPU keeps one search off the GPUs.
func WithCPU() SearchOption { return func(c *searchConfig) { c.cpu = true } }

// GPUStats count what GPUs did since an Index was opened.
type GPUStats = exec.GPUStats

// GPUStats returns the counts as of now. used is false if the Index has no GPU.
func (ix *Index) GPUStats() (stats GPUStats, used bool) {
	g := ix.dispatcher.GPU()
	return g.Stats(), g != nil
}

// WarmOptions say which posting lists Warm brings to the GPUs.
type WarmOptions = exec.WarmOptions

// WarmReport is what Warm did.
type WarmReport struct {
	// Lists are resident of the Total that were wanted.
	Lists int64 `json:"lists"`
	Total int64 `json:"total"`
}

// Warm brings posting lists to the GPUs of the Index, the longest first, until all
// are there or memory is full, so that no search has to wait for them. Without a GPU
// it does nothing.
func (ix *Index) Warm(ctx context.Context, o WarmOptions) (WarmReport, error) {
	g := ix.dispatcher.GPU()
	if g == nil {
		return WarmReport{}, nil
	}
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return WarmReport{}, err
	}
	defer snapshot.Release()
	lists, total, err := g.Warm(ctx, snapshot, o)
	return WarmReport{Lists: lists, Total: total}, err
}

// openDispatcher opens the GPUs that the options ask for, and what decides what runs
// there.
func (ix *Index) openDispatcher() error {
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Release()
	g, err := exec.OpenGPU(ix.cfg.gpu, exec.ListBytes(snapshot))
	if err != nil {
		return err
	}
	dispatch := ix.cfg.dispatch
	ix.measured.Store(dispatch.LoadCosts(vfs.OS, ix.ix.Dir(), g))
	if ix.dispatcher, err = exec.NewDispatcher(g, dispatch); err != nil {
		return errors.Join(err, g.Close())
	}
	if !ix.Calibrated() && !ix.cfg.withoutCalibration {
		_ = ix.Calibrate(context.Background(), nil) // built-in times do, too
	}
	return nil
}
