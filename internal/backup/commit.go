package backup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/vfs"
)

const maxManifestLen = 16 << 20

var idPattern = regexp.MustCompile(`^[0-9a-f]{1,64}$`)

// manifest is the part of docs/formats/manifest.md that a copy needs.
type manifest struct {
	ID         string `json:"id"`
	Generation uint64 `json:"generation"`
	Segments   []struct {
		Name    string `json:"name"`
		Sum     uint32 `json:"sum"`
		Live    string `json:"live"`
		LiveSum uint32 `json:"live_sum"`
		NumLive int64  `json:"num_live"`
	} `json:"segments"`
}

// part is a segment, or a file beside the segments, of a commit whose files are open.
type part struct {
	name  string // in the folder of the index
	copy  string // in the Store, without the checksum
	sum   uint32
	known bool // sum; otherwise it is the one of the file
	dir   bool
	files []openFile
}

type openFile struct {
	vfs.File
	name      string // in the folder of the index, with slashes
	sizeBytes int64
}

// commit is the last commit of an index with all files open, so that a newer one cannot remove them.
type commit struct {
	manifest
	text  []byte // of the manifest
	parts []part
}

func (c *commit) close() error {
	var errs []error
	for _, p := range c.parts {
		for _, f := range p.files {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// maxAttempts bounds how often newer commits may remove files while a commit is opened.
const maxAttempts = 20

func openCommit(fsys vfs.FS, dir string) (*commit, error) {
	for attempt := 1; ; attempt++ {
		c, err := tryCommit(fsys, dir)
		if err == nil {
			return c, nil
		}
		if errors.Is(err, fs.ErrNotExist) && attempt < maxAttempts {
			newer, readErr := readManifest(fsys, dir)
			if readErr == nil && !bytes.Equal(newer.text, c.text) {
				continue
			}
		}
		return nil, err
	}
}

// readManifest checks the index as every reader does.
func readManifest(fsys vfs.FS, dir string) (*commit, error) {
	ix, err := index.Open(fsys, dir)
	if err != nil {
		return nil, err
	}
	if err := ix.Close(); err != nil {
		return nil, err
	}
	c := new(commit)
	name := filepath.Join(dir, base.ManifestName)
	if c.text, err = readFile(fsys, name, maxManifestLen); err != nil {
		return nil, err
	}
	head, body, _ := bytes.Cut(c.text, []byte{'\n'})
	var version int
	var sum uint32
	if n, _ := fmt.Sscanf(string(head), base.ManifestMagic+"%d crc32c %08x", &version, &sum); n < 2 || sum != crc32.Checksum(body, castagnoli) {
		return nil, fmt.Errorf("%s: checksum: %w", name, base.ErrCorrupt)
	}
	if err := json.Unmarshal(body, &c.manifest); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, err, base.ErrCorrupt)
	}
	if !idPattern.MatchString(c.ID) {
		return nil, fmt.Errorf("%s: id %q: %w", name, c.ID, base.ErrCorrupt)
	}
	return c, nil
}

// tryCommit returns the commit also with an error, without open files.
func tryCommit(fsys vfs.FS, dir string) (c *commit, err error) {
	if c, err = readManifest(fsys, dir); err != nil {
		return &commit{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
			c.parts = nil
		}
	}()
	for _, s := range c.Segments {
		if err := c.open(fsys, dir, part{name: s.Name, sum: s.Sum, known: true, dir: true}); err != nil {
			return c, err
		}
		if s.Live == "" {
			continue
		}
		if err := c.open(fsys, dir, part{name: s.Live, sum: s.LiveSum, known: true}); err != nil {
			return c, err
		}
	}
	impacts := fmt.Sprintf("impacts-%06d", c.Generation)
	if err := c.open(fsys, dir, part{name: impacts}); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	return c, nil
}

func (c *commit) open(fsys vfs.FS, dir string, p part) error {
	names := []string{p.name}
	if p.dir {
		files, err := fsys.ReadDir(filepath.Join(dir, p.name))
		if err != nil {
			return err
		}
		names = nil
		for _, file := range files {
			names = append(names, path.Join(p.name, file))
		}
	}
	p.copy = path.Join(c.ID, p.name)
	c.parts = append(c.parts, p)
	added := &c.parts[len(c.parts)-1]
	for _, name := range names {
		size, err := fsys.Stat(filepath.Join(dir, local(name)))
		if err != nil {
			return c.drop(err)
		}
		f, err := fsys.Open(filepath.Join(dir, local(name)))
		if err != nil {
			return c.drop(err)
		}
		added.files = append(added.files, openFile{File: f, name: name, sizeBytes: size})
	}
	return nil
}

// drop removes the last part, which is not complete.
func (c *commit) drop(err error) error {
	last := len(c.parts) - 1
	for _, f := range c.parts[last].files {
		err = errors.Join(err, f.Close())
	}
	c.parts = c.parts[:last]
	return err
}
