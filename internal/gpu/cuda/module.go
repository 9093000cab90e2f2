package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/klauspost/compress/zstd"

	"github.com/griffin-search/griffin/internal/gpu/ptx"
)

// CUjit_option.
const (
	jitErrorLogBuffer = 5
	jitErrorLogBytes  = 6
)

const jitLogBytes = 8192

// Module is a loaded image of kernels.
type Module struct {
	device *Device
	name   string
	handle uintptr
}

// LoadModule loads a PTX image, which the driver compiles for the device and
// caches between processes. name is for errors, which contain the compiler's
// messages.
func (d *Device) LoadModule(name string, image []byte) (*Module, error) {
	m := &Module{device: d, name: name}
	text := append(slices.Clip(bytes.TrimRight(image, "\x00")), 0) // a copy
	log := make([]byte, jitLogBytes)
	options := []uint32{jitErrorLogBuffer, jitErrorLogBytes}
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
	code := d.try(fnModuleLoadDataEx, uintptr(unsafe.Pointer(&m.handle)), uintptr(unsafe.Pointer(&text[0])), uintptr(len(options)),
		uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(&values[0])))
	runtime.KeepAlive(log)
	if code != Success {
		err := d.fail(fnModuleLoadDataEx, name, code)
		if messages := untilNUL(log); messages != "" {
			if e, ok := err.(*Error); ok { //nolint:errorlint // fail returns no other type, and wraps nothing
				e.Detail += ": " + messages
			}
		}
		return nil, err
	}
	d.created(1)
	return m, nil
}

// LoadImage is LoadModule for folded PTX (package ptx) compressed with zstd, as make kernels writes it. If it
// cannot be decompressed and unfolded, the error has the code InvalidImage.
func (d *Device) LoadImage(name string, image []byte) (*Module, error) {
	return d.LoadVariant(name, image, nil)
}

// LoadVariant is LoadImage for an image whose dictionary is the folded PTX of another one; base is this image, or nil.
func (d *Device) LoadVariant(name string, image, base []byte) (*Module, error) {
	text, err := decompress(image, base)
	if err != nil {
		return nil, &Error{Call: "LoadImage " + name, Code: InvalidImage, Detail: "the compressed PTX is damaged: " + err.Error()}
	}
	return d.LoadModule(name, text)
}

var decoder = sync.OnceValues(func() (*zstd.Decoder, error) { return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)) })

func decompress(image, base []byte) ([]byte, error) {
	d, err := decoder()
	if err != nil {
		return nil, err
	}
	if len(image) == 0 {
		return nil, errors.New("it is empty")
	}
	if base != nil {
		dictionary, err := d.DecodeAll(base, nil)
		if err != nil {
			return nil, err
		}
		if d, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderDictRaw(0, dictionary)); err != nil {
			return nil, err
		}
		defer d.Close()
	}
	folded, err := d.DecodeAll(image, nil)
	if err != nil {
		return nil, err
	}
	return ptx.Unfold(folded)
}

// Unload releases the module, whose kernels must not be running.
func (m *Module) Unload() error {
	handle := m.handle
	if handle == 0 {
		return misuse("Unload", "module %s was unloaded before", m.name)
	}
	m.handle = 0
	m.device.created(-1)
	return m.device.call(fnModuleUnload, m.name, handle)
}

// Kernel is an entry point of a module. Safe for concurrent use.
type Kernel struct {
	device     *Device
	name       string
	handle     uintptr
	paramBytes int
	attributes kernelAttributes

	mutex     sync.Mutex
	maxShared int
}

type kernelAttributes struct {
	maxThreads, sharedBytes, localBytes, registers int32
}

// CUfunction_attribute.
const (
	kernelMaxThreads       = 0
	kernelSharedBytes      = 1
	kernelLocalBytes       = 3
	kernelRegisters        = 4
	kernelMaxDynamicShared = 8
)

// LoadKernel returns a kernel whose only parameter is a struct P by value, of
// numbers of fixed size. P's size is compared with the driver's.
func LoadKernel[P any](m *Module, name string) (*Kernel, error) {
	t := reflect.TypeFor[P]()
	if why := plain(t); why != "" {
		return nil, misuse("LoadKernel", "%s: parameters of type %s: %s", name, t, why)
	}
	return m.Kernel(name, int(t.Size()))
}

// Kernel returns a kernel with one parameter of paramBytes bytes. A size that
// differs from the driver's is a misuse.
func (m *Module) Kernel(name string, paramBytes int) (*Kernel, error) {
	if paramBytes <= 0 || paramBytes > maxParamBytes {
		return nil, misuse("Kernel", "%s: parameters of %d bytes; 1 to %d are possible", name, paramBytes, maxParamBytes)
	}
	k := &Kernel{device: m.device, name: name, paramBytes: paramBytes}
	symbol := append([]byte(name), 0)
	if err := m.device.call(fnModuleGetFunction, m.name+" "+name, uintptr(unsafe.Pointer(&k.handle)), m.handle, uintptr(unsafe.Pointer(&symbol[0]))); err != nil {
		return nil, err
	}
	if err := k.checkParams(); err != nil {
		return nil, err
	}
	for _, a := range []struct {
		id  uintptr
		out *int32
	}{
		{kernelMaxThreads, &k.attributes.maxThreads},
		{kernelSharedBytes, &k.attributes.sharedBytes},
		{kernelLocalBytes, &k.attributes.localBytes},
		{kernelRegisters, &k.attributes.registers},
	} {
		if err := m.device.call(fnFuncGetAttribute, name, uintptr(unsafe.Pointer(a.out)), a.id, k.handle); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// checkParams compares the parameters with the driver's. Drivers before 12.4 do not
// provide the size, so that nothing is checked.
func (k *Kernel) checkParams() error {
	if !k.device.lib.has(fnFuncGetParamInfo) {
		return nil
	}
	offset, size := new(uint64), new(uint64)
	if err := k.device.call(fnFuncGetParamInfo, k.name, k.handle, 0, uintptr(unsafe.Pointer(offset)), uintptr(unsafe.Pointer(size))); err != nil {
		return err
	}
	if *size != uint64(k.paramBytes) {
		return misuse("Kernel", "%s: its parameter has %d bytes, the Go struct %d", k.name, *size, k.paramBytes)
	}
	switch code := k.device.try(fnFuncGetParamInfo, k.handle, 1, uintptr(unsafe.Pointer(offset)), uintptr(unsafe.Pointer(size))); code {
	case Success:
		return misuse("Kernel", "%s: it has more than one parameter", k.name)
	case InvalidValue:
		return nil
	default:
		return k.device.fail(fnFuncGetParamInfo, k.name, code)
	}
}

// Name returns the kernel's name.
func (k *Kernel) Name() string { return k.name }

// Registers returns the number of registers per thread.
func (k *Kernel) Registers() int { return int(k.attributes.registers) }

// LocalBytes returns the local memory per thread, used for values that did not
// fit into registers.
func (k *Kernel) LocalBytes() int { return int(k.attributes.localBytes) }

// SharedBytes returns the static shared memory per block.
func (k *Kernel) SharedBytes() int { return int(k.attributes.sharedBytes) }

// MaxThreads returns the maximum number of threads per block.
func (k *Kernel) MaxThreads() int { return int(k.attributes.maxThreads) }

// SetMaxShared allows launches with up to sizeBytes of dynamic shared memory:
// required if static and dynamic memory together exceed 48 KiB, at most
// Info.MaxSharedBytes less SharedBytes. It never lowers the limit.
func (k *Kernel) SetMaxShared(sizeBytes int) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if sizeBytes <= k.maxShared {
		return nil
	}
	if err := k.device.call(fnFuncSetAttribute, fmt.Sprintf("%s: %d bytes of shared memory", k.name, sizeBytes), k.handle, kernelMaxDynamicShared, uintptr(sizeBytes)); err != nil {
		return err
	}
	k.maxShared = sizeBytes
	return nil
}

// BlocksPerMultiprocessor returns how many blocks, with sharedBytes of dynamic
// shared memory each, a multiprocessor runs at the same time.
func (k *Kernel) BlocksPerMultiprocessor(blockThreads, sharedBytes int) (int, error) {
	n := new(int32)
	if err := k.device.call(fnOccupancyMaxActiveBlocks, k.name, uintptr(unsafe.Pointer(n)), k.handle, uintptr(blockThreads), uintptr(sharedBytes)); err != nil {
		return 0, err
	}
	return int(*n), nil
}
