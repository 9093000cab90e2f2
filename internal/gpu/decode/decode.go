package decode

import (
	"embed"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

//go:embed image/*.ptx.zst
var images embed.FS

// params mirrors DecodeParams.
type params struct {
	lists                                  cuda.Ptr[List]
	single                                 List
	numLists, numTiles, tileBlocks, option uint32
	longerTiles                            uint32
	_                                      uint32
}

// Kernels are the kernels of one device, each loaded at its first use.
type Kernels struct {
	device    *cuda.Device
	kernels   [numKinds][numWhat][2]atomic.Pointer[cuda.Kernel] // for batches, and for single lists
	recArrays atomic.Pointer[cuda.Kernel]
	scan      [3]atomic.Pointer[cuda.Kernel]
	at        [4]atomic.Pointer[cuda.Kernel] // random access, by codec.Scheme

	mu       sync.Mutex              // guards what follows
	modules  map[string]*cuda.Module // by image
	extended map[extended]*cuda.Kernel
	added    map[*Extension]*cuda.Module
}

// extended is a kernel of an Extension.
type extended struct {
	extension *Extension
	what      What
}

// New loads no kernels.
func New(d *cuda.Device) *Kernels {
	return &Kernels{device: d, modules: map[string]*cuda.Module{}, extended: map[extended]*cuda.Kernel{}, added: map[*Extension]*cuda.Module{}}
}

// Prepare loads the kernels of a codec in advance.
func (k *Kernels) Prepare(c Codec) error {
	for w := range numWhat {
		for _, one := range []bool{false, true} {
			if _, err := k.kernel(c, w, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// kernel returns a kernel, for a single list (one) or a batch, and loads it at its first
// use.
func (k *Kernels) kernel(c Codec, w What, one bool) (*cuda.Kernel, error) {
	if c.extension != nil {
		return k.extensionKernel(extended{c.extension, w})
	}
	if c.kind >= numKinds || w >= numWhat {
		return nil, fmt.Errorf("no kernel of codec %d for %v: %w", c.kind, w, ErrShape)
	}
	f := families[c.kind]
	slot, end := &k.kernels[c.kind][w][0], ""
	if one && f.one {
		slot, end = &k.kernels[c.kind][w][1], "_one"
	}
	if loaded := slot.Load(); loaded != nil {
		return loaded, nil
	}
	loaded, err := load[params](k, f.image, "decode_"+f.name+"_"+w.String()+end)
	if err != nil {
		return nil, err
	}
	slot.Store(loaded)
	return loaded, nil
}

func (k *Kernels) extensionKernel(which extended) (*cuda.Kernel, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if kernel := k.extended[which]; kernel != nil {
		return kernel, nil
	}
	e := which.extension
	module := k.added[e]
	if module == nil {
		var err error
		if module, err = k.device.LoadImage(e.Name, e.Image); err != nil {
			return nil, err
		}
		k.added[e] = module
	}
	kernel, err := cuda.LoadKernel[params](module, "decode_"+e.Name+"_"+which.what.String())
	if err == nil {
		k.extended[which] = kernel
	}
	return kernel, err
}

func load[P any](k *Kernels, image, name string) (*cuda.Kernel, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	module := k.modules[image]
	if module == nil {
		code, err := images.ReadFile("image/" + image + ".ptx.zst")
		if err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
		if module, err = k.device.LoadImage(image, code); err != nil {
			return nil, err
		}
		k.modules[image] = module
	}
	return cuda.LoadKernel[P](module, name)
}

// Close unloads the kernels, which must not be running.
func (k *Kernels) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for _, m := range k.modules {
		errs = append(errs, m.Unload())
	}
	for _, m := range k.added {
		errs = append(errs, m.Unload())
	}
	clear(k.modules)
	clear(k.added)
	clear(k.extended)
	return errors.Join(errs...)
}

// Decode enqueues decoding a batch of lists of one codec. lists is the device
// copy of the lists that Plan completed. It allocates nothing, except in the
// first call for a codec.
func (k *Kernels) Decode(s *cuda.Stream, c Codec, w What, lists cuda.Buffer[List], b Batch) error {
	if lists.Len() < int(b.numLists) {
		return fmt.Errorf("batch of %d lists in a buffer of %d: %w", b.numLists, lists.Len(), ErrShape)
	}
	return k.launch(s, c, w, params{lists: lists.Ptr(), numLists: b.numLists, numTiles: b.numTiles, tileBlocks: b.tileBlocks})
}

// DecodeList enqueues decoding one list, without a copy to the device.
func (k *Kernels) DecodeList(s *cuda.Stream, c Codec, w What, l List) error {
	l.firstTile = 0
	p := params{single: l, numLists: 1}
	if c.kind == kindEF && w != Freqs {
		p.numTiles, p.tileBlocks, p.longerTiles = evenTiles(l.numBlocks)
	} else {
		p.tileBlocks = tileBlocks(uint64(l.numBlocks))
		p.numTiles = (l.numBlocks + p.tileBlocks - 1) / p.tileBlocks
	}
	return k.launch(s, c, w, p)
}

func (k *Kernels) launch(s *cuda.Stream, c Codec, w What, p params) error {
	kernel, err := k.kernel(c, w, p.lists == 0)
	if err != nil || p.numTiles == 0 {
		return err
	}
	p.option = c.option
	return cuda.Launch(s, kernel, cuda.D1(int((p.numTiles+warps-1)/warps)), cuda.D1(threads), 0, &p)
}
