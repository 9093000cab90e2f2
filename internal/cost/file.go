package cost

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// FileName is the name of the file of models in an index folder.
const FileName = "costs.json"

// IsTemp reports whether name is a temporary file of Save, which may be removed
// if an interrupted Save left it.
func IsTemp(name string) bool {
	random, ok := strings.CutPrefix(strings.TrimSuffix(name, tempSuffix), FileName+".")
	return ok && len(random) == 2*randomBytes && strings.HasSuffix(name, tempSuffix)
}

// OldName is the name to which Save renames a file that it cannot read,
// replacing any previous one.
const OldName = FileName + ".old"

const randomBytes = 8

const tempSuffix = ".tmp"

// ErrForeign means that a file has no model of the machine.
var ErrForeign = errors.New("not measured on this machine")

// fileVersion changes with the basis of a kind or the features of trees.
//
//	1  first
//	2  queries of a single term are a separate kind
const fileVersion = 2

const (
	// maxFileBytes limits the input; a model takes about 100 KiB.
	maxFileBytes = 64 << 20
	// maxMachines is the number of machines that a file keeps, most recently saved
	// first.
	maxMachines = 8
)

type file struct {
	Format int     `json:"format"`
	Models []saved `json:"models"` // most recently saved first
}

// saved is the model of a machine. Omitted kinds have built-in coefficients.
type saved struct {
	Machine Machine              `json:"machine"`
	Kinds   map[string]savedKind `json:"kinds"`
	Trees   map[string]*Tree     `json:"trees,omitempty"`
}

type savedKind struct {
	Coefficients []float64 `json:"ns"`
	Tree         *Tree     `json:"tree,omitempty"`
	Samples      int       `json:"samples"`
	Error        float64   `json:"mean_relative_error"`
	// Variance of the logarithm of measured/predicted; nil: not observed, use the
	// error of the fit.
	Variance    *float64       `json:"variance,omitempty"`
	Corrections []savedClasses `json:"corrections,omitempty"`
}

type savedClasses struct {
	Class int     `json:"class"`
	Log   float64 `json:"log"`
}

// Load reads the model of a machine from a file. The error wraps fs.ErrNotExist
// if there is no file, base.ErrVersion for another format version,
// base.ErrCorrupt if it cannot be parsed, and ErrForeign if it has no model of
// the machine. After any of them, use New, or calibrate.
func Load(fsys vfs.FS, path string, machine Machine) (*Model, error) {
	f, err := readFile(fsys, path)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(f.Models, func(s saved) bool { return s.Machine.Equal(machine) })
	if i < 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrForeign)
	}
	m, err := f.Models[i].model()
	if err != nil {
		return nil, fmt.Errorf("%s: model %d: %w", path, i, err)
	}
	return m, nil
}

func readFile(fsys vfs.FS, path string) (*file, error) {
	in, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFileBytes))
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	f, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// parse decodes a file without checking its models.
func parse(data []byte) (*file, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", err, base.ErrCorrupt)
	}
	if f.Format != fileVersion {
		return nil, fmt.Errorf("format %d, not %d: %w", f.Format, fileVersion, base.ErrVersion)
	}
	return &f, nil
}

// model checks the coefficients and trees and makes a Model of them.
func (s *saved) model() (*Model, error) {
	m := New(s.Machine)
	next := *m.fitted.Load()
	for name, of := range s.Kinds {
		k, ok := ParseKind(name)
		if !ok {
			return nil, fmt.Errorf("kind %q: there is none: %w", name, base.ErrCorrupt)
		}
		var x [maxBasis]float64
		if n := basis(k, &Features{}, &x); len(of.Coefficients) != n {
			return nil, fmt.Errorf("%s: %d coefficients, not %d: %w", k, len(of.Coefficients), n, base.ErrCorrupt)
		}
		for i, c := range of.Coefficients {
			if !(c >= 0 && c <= maxCoefficient) {
				return nil, fmt.Errorf("%s: coefficient %d is %g: %w", k, i, c, base.ErrCorrupt)
			}
			if of.Samples > 0 { // otherwise the built-in coefficients apply
				next.coefficients[k][i] = c
			}
		}
		if of.Samples < 0 || !(of.Error >= 0 && of.Error <= math.MaxFloat32) {
			return nil, fmt.Errorf("%s: %d samples, error %g: %w", k, of.Samples, of.Error, base.ErrCorrupt)
		}
		if next.samples[k] = of.Samples; of.Samples > 0 {
			next.fitErrors[k] = of.Error
			m.scatters[k].reset(fitScatter(of.Error), false)
		}
		if v := of.Variance; v != nil {
			if !(*v >= 0 && *v <= maxScatter*maxScatter) {
				return nil, fmt.Errorf("%s: variance %g: %w", k, *v, base.ErrCorrupt)
			}
			m.scatters[k].reset(*v, true)
		}
		if of.Tree != nil {
			if err := of.Tree.check(); err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			if of.Samples > 0 {
				next.own[k] = of.Tree
			}
		}
		for _, c := range of.Corrections {
			if c.Class < 0 || c.Class >= NumClasses || !(math.Abs(c.Log) <= maxCorrection) {
				return nil, fmt.Errorf("%s: class %d, correction %g: %w", k, c.Class, c.Log, base.ErrCorrupt)
			}
			m.cells[k][c.Class].set(c.Log)
		}
	}
	for name, t := range s.Trees {
		place := next.trees.named(name)
		if place == nil || t == nil {
			return nil, fmt.Errorf("tree %q: there is none: %w", name, base.ErrCorrupt)
		}
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("tree %s: %w", name, err)
		}
		*place = t
	}
	m.fitted.Store(&next)
	return m, nil
}

// maxCoefficient is the longest measurable time per unit, in nanoseconds.
const maxCoefficient = maxSample

func (m *Model) save() saved {
	now := m.fitted.Load()
	s := saved{Machine: m.machine, Kinds: map[string]savedKind{}, Trees: map[string]*Tree{}}
	for k := range NumKinds {
		var x [maxBasis]float64
		n := basis(k, &Features{}, &x)
		of := savedKind{Coefficients: now.coefficients[k][:n], Tree: now.own[k], Samples: now.samples[k], Error: now.fitErrors[k]}
		for i := range m.cells[k] {
			c := &m.cells[k][i]
			c.mu.Lock()
			if c.log != 0 {
				of.Corrections = append(of.Corrections, savedClasses{i, c.log})
			}
			c.mu.Unlock()
		}
		of.Variance = m.scatters[k].observed()
		if of.Samples > 0 || len(of.Corrections) > 0 || of.Variance != nil {
			s.Kinds[k.String()] = of
		}
	}
	for _, name := range treeNames {
		if t := *now.trees.named(name); t != nil {
			s.Trees[name] = t
		}
	}
	return s
}

// Save writes the model to a file, atomically, and keeps the file's models of
// other machines. A damaged file, or of another version, is renamed to OldName,
// because its models may be recoverable; a file that cannot be read for another
// reason stays unchanged. The error is from the file system. If two processes
// save at the same time, one of their models may be lost.
func (m *Model) Save(fsys vfs.FS, path string) error {
	seen := m.seen.Load()
	f, err := readFile(fsys, path)
	unreadable := errors.Is(err, base.ErrCorrupt) || errors.Is(err, base.ErrVersion)
	switch {
	case unreadable || errors.Is(err, fs.ErrNotExist):
		f = &file{}
	case err != nil:
		return err
	}
	for i := range f.Models { // Load would fail to read it; keep it for recovery
		if s := &f.Models[i]; s.Machine.Equal(m.machine) {
			_, err := s.model()
			unreadable = unreadable || err != nil
			break
		}
	}
	others := slices.DeleteFunc(f.Models, func(s saved) bool { return s.Machine.Equal(m.machine) })
	f.Format = fileVersion
	f.Models = append([]saved{m.save()}, others[:min(len(others), maxMachines-1)]...)
	data, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var random [randomBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	temp := path + "." + hex.EncodeToString(random[:]) + tempSuffix
	err = vfs.WriteFile(fsys, temp, append(data, '\n'))
	if err == nil && unreadable {
		err = fsys.Rename(path, filepath.Join(filepath.Dir(path), OldName))
	}
	if err == nil {
		err = fsys.Rename(temp, path)
	}
	if err != nil {
		removed := fsys.Remove(temp)
		if errors.Is(removed, fs.ErrNotExist) {
			removed = nil
		}
		return errors.Join(err, removed)
	}
	m.saved.Store(seen)
	return fsys.SyncDir(filepath.Dir(path))
}

// Unsaved returns the number of observations since the model was saved or
// loaded.
func (m *Model) Unsaved() uint64 { return m.seen.Load() - m.saved.Load() }
