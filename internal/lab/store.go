package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Store keeps records as JSON files, one per experiment, replaced atomically.
type Store struct{ Dir string }

func (s Store) path(name string) string { return filepath.Join(s.Dir, name+".json") }

// Save replaces an earlier record of the same name.
func (s Store) Save(r *Record) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("record %s: %w", r.Name, err)
	}
	return replaceFile(s.path(r.Name), b.Bytes())
}

// Load returns a record; the error wraps fs.ErrNotExist if there is none.
func (s Store) Load(name string) (*Record, error) {
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		return nil, err
	}
	r := new(Record)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", s.path(name), err)
	}
	if r.Name != name || r.Result == nil {
		return nil, fmt.Errorf("%s: is not the record of %s", s.path(name), name)
	}
	if err := r.Result.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.path(name), err)
	}
	return r, nil
}

// LoadAll returns the existing records of the experiments, in order.
func (s Store) LoadAll(all []Experiment) ([]*Record, error) {
	var records []*Record
	for _, e := range all {
		r, err := s.Load(e.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		default:
			records = append(records, r)
		}
	}
	return records, nil
}

// replaceFile is atomic and creates the folder if necessary.
func replaceFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // no effect after the file was moved
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
