package backup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

const (
	descriptionMagic   = "griffin-snapshot "
	descriptionVersion = 1
	maxDescriptionLen  = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type description struct {
	Snapshot
	Manifest string     `json:"manifest"` // the file, byte by byte
	Files    []fileCopy `json:"files"`
}

// fileCopy is a file of the index. Paths have slashes.
type fileCopy struct {
	Path      string `json:"path"` // in the folder of the index
	Copy      string `json:"copy"` // in the Store
	SizeBytes int64  `json:"size_bytes"`
}

func (d *description) encode() ([]byte, error) {
	body, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	return append(firstLine(body), body...), nil
}

func firstLine(body []byte) []byte {
	return fmt.Appendf(nil, descriptionMagic+"%d crc32c %08x\n", descriptionVersion, crc32.Checksum(body, castagnoli))
}

func parseDescription(data []byte) (*description, error) {
	var version int
	if n, _ := fmt.Sscanf(string(data[:min(len(data), 64)]), descriptionMagic+"%d", &version); n < 1 {
		return nil, fmt.Errorf("not the description of a snapshot: %w", base.ErrCorrupt)
	}
	if version != descriptionVersion {
		return nil, fmt.Errorf("version %d of snapshots, this program reads %d: %w", version, descriptionVersion, base.ErrVersion)
	}
	head, body, _ := bytes.Cut(data, []byte{'\n'})
	if !bytes.Equal(append(head, '\n'), firstLine(body)) {
		return nil, fmt.Errorf("checksum: %w", base.ErrCorrupt)
	}
	d := new(description)
	if err := json.Unmarshal(body, d); err != nil {
		return nil, fmt.Errorf("%w: %w", err, base.ErrCorrupt)
	}
	for _, f := range d.Files {
		if !isInside(f.Path) || !isInside(f.Copy) || f.Path == base.ManifestName {
			return nil, fmt.Errorf("file %q from %q: not such paths: %w", f.Path, f.Copy, base.ErrCorrupt)
		}
	}
	return d, nil
}

// isInside reports whether a path with slashes stays in its folder.
func isInside(path string) bool {
	return fs.ValidPath(path) && path != "." && !strings.ContainsAny(path, `\:`)
}

func (s *Store) load(name string) (*description, error) {
	file := s.path(name + suffix)
	data, err := readFile(s.fs, file, maxDescriptionLen)
	if err != nil {
		return nil, err
	}
	d, err := parseDescription(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if d.Name != name {
		return nil, fmt.Errorf("%s: describes the snapshot %q: %w", file, d.Name, base.ErrCorrupt)
	}
	return d, nil
}

// save makes the snapshot appear.
func (s *Store) save(d *description) error {
	data, err := d.encode()
	if err != nil {
		return err
	}
	temp := s.path(tempName, d.Name+suffix)
	if err := vfs.WriteFile(s.fs, temp, data); err != nil {
		return vfs.PathError("write", temp, err)
	}
	if err := s.fs.Rename(temp, s.path(d.Name+suffix)); err != nil {
		return err
	}
	return s.fs.SyncDir(s.dir)
}

func readFile(fsys vfs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, vfs.PathError("read", name, err)
	}
	return data, nil
}

func local(path string) string { return filepath.FromSlash(path) }
