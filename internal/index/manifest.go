package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// The manifest lists the segments in DocID order, and their live documents. A commit renames a
// new one over it; files that it does not name are leftovers.
//
//	griffin-manifest 1 crc32c 1c2b3a49\n
//	{ JSON }
//
// The checksum covers the JSON (docs/formats/manifest.md).
//
// History of the version: 1, the first; 2, with seq, written only if that is not 0; 3, with grown,
// written only if that is not 0: segments can have fewer fields; 4, with options.mapping or
// options.analysis, written only if there is one; 5, with fields of vectors or revisions in options.mapping; 6, with
// options.mapping.shape and the former documents of segments; 7, with impacts.
const (
	manifestName    = base.ManifestName
	manifestTemp    = "MANIFEST.new"
	manifestVersion = 7
	lockName        = "LOCK"
	tempName        = "tmp"
	// LogName is the folder of the write-ahead log (package living).
	LogName        = "log"
	maxManifestLen = 16 << 20
)

type manifest struct {
	// ID is random: a later index in the folder has another.
	ID string `json:"id"`
	// Generation counts commits.
	Generation uint64 `json:"generation"`
	// Names are never used again.
	NextSegment uint64            `json:"next_segment"`
	Options     Options           `json:"options"`
	Segments    []manifestSegment `json:"segments"`
	// Seq is the number of the last record of the log whose change the segments have; 0: there is
	// no log.
	Seq uint64 `json:"seq,omitempty"`
	// Grown counts the last of Options.Declared, which were added after the index was made. Segments
	// can lack them.
	Grown int `json:"grown,omitempty"`
	// Impacts, if not nil, is how impact-ordered lists are made, of this commit and the next ones; not to be changed.
	Impacts *ImpactSettings `json:"impacts,omitempty"`
}

type manifestSegment struct {
	Name string `json:"name"` // of its folder
	// Sum is segment.Meta.Sum, which differs from segments of other indexes and times with the
	// same name.
	Sum     uint32 `json:"sum"`
	NumDocs int    `json:"num_docs"`
	// Live is the file of segment.Deletions, LiveSum its checksum; "" and 0 if all are live.
	Live    string `json:"live,omitempty"`
	LiveSum uint32 `json:"live_sum,omitempty"`
	NumLive int    `json:"num_live"`
	// Former counts the first documents in the order of writing, deleted ones included, that were written before the
	// last change of the shape (mapping.Mapping.Shape).
	Former int `json:"former,omitempty"`

	// deletions, if not nil, are kept by the process that deleted; Live is "" until
	// they are written.
	deletions *segment.Deletions
}

var (
	segmentPattern = regexp.MustCompile(`^seg-[0-9]{6,20}$`)
	livePattern    = regexp.MustCompile(`^seg-[0-9]{6,20}\.live-[0-9]{6,20}$`)
	castagnoli     = crc32.MakeTable(crc32.Castagnoli)
)

func segmentName(number uint64) string { return fmt.Sprintf("seg-%06d", number) }

func segmentNumber(name string) (number uint64, ok bool) {
	if !segmentPattern.MatchString(name) {
		return 0, false
	}
	number, err := strconv.ParseUint(name[len("seg-"):], 10, 64)
	return number, err == nil && segmentName(number) == name
}

func liveName(segment string, generation uint64) string {
	return fmt.Sprintf("%s.live-%06d", segment, generation)
}

func (m *manifest) clone() *manifest {
	c := *m
	c.Segments = slices.Clone(m.Segments)
	return &c
}

func (m *manifest) encode() ([]byte, error) {
	body, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	head := fmt.Sprintf(base.ManifestMagic+"%d crc32c %08x\n", m.version(), crc32.Checksum(body, castagnoli))
	return append([]byte(head), body...), nil
}

// encodeValid refuses what parseManifest refuses: such a manifest must not replace another.
func (m *manifest) encodeValid() ([]byte, error) {
	if err := m.validate(); err != nil {
		return nil, fmt.Errorf("manifest of generation %d is not written: %w", m.Generation, err)
	}
	return m.encode()
}

// version is the lowest that has the content.
func (m *manifest) version() int {
	switch {
	case m.Impacts != nil:
		return 7
	case m.Options.shape() != 0:
		return 6
	case m.Options.weightFields() != nil, m.Options.revision() != 0:
		return 5
	case m.Options.Mapping != nil, m.Options.Analysis != nil, m.Options.TitleWeight != 0, m.Options.NameField != "":
		return 4
	case m.Grown != 0:
		return 3
	case m.Seq != 0:
		return 2
	}
	return 1
}

// parseManifest returns only consistent manifests.
func parseManifest(data []byte) (*manifest, error) {
	head, body, ok := bytes.Cut(data, []byte{'\n'})
	var version int
	var sum uint32
	if n, _ := fmt.Sscanf(string(head), base.ManifestMagic+"%d crc32c %08x", &version, &sum); n < 1 || !ok {
		return nil, fmt.Errorf("first line %.80q: not that of a manifest: %w", head, base.ErrCorrupt)
	}
	if version < 1 || version > manifestVersion {
		return nil, fmt.Errorf("manifest version %d, this program reads 1 to %d: %w", version, manifestVersion, base.ErrVersion)
	}
	if want := fmt.Sprintf(base.ManifestMagic+"%d crc32c %08x", version, crc32.Checksum(body, castagnoli)); want != string(head) {
		return nil, fmt.Errorf("checksum: %w", base.ErrCorrupt)
	}
	m := new(manifest)
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%w: %w", err, base.ErrCorrupt)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("bytes after the JSON: %w", base.ErrCorrupt)
	}
	if version == 5 && m.Options.shape() != 0 { // it did not count
		m.markFormer(&Options{})
		return m, m.validate()
	}
	if want := m.version(); version != want {
		return nil, fmt.Errorf("version %d, but its content is of version %d: %w", version, want, base.ErrCorrupt)
	}
	return m, m.validate()
}

func (m *manifest) validate() error {
	if err := m.Options.validate(); err != nil {
		return err
	}
	if m.Options.Fields == nil {
		return fmt.Errorf("no list of fields: %w", base.ErrCorrupt)
	}
	if err := m.Impacts.validate(m.Options.Weighted()); err != nil {
		return err
	}
	if n := len(m.Options.Declared()); m.Grown < 0 || m.Grown > n {
		return fmt.Errorf("%d of %d fields were added: %w", m.Grown, n, base.ErrCorrupt)
	}
	total, seen := int64(0), map[uint64]bool{}
	for _, s := range m.Segments {
		number, ok := segmentNumber(s.Name)
		switch {
		case !ok, s.Live != "" && !livePattern.MatchString(s.Live):
			return fmt.Errorf("segment %q, live documents %q: not such names: %w", s.Name, s.Live, base.ErrCorrupt)
		case s.NumDocs < 1, s.NumLive < 0, s.NumLive > s.NumDocs, (s.Live == "") != (s.NumLive == s.NumDocs):
			return fmt.Errorf("segment %s: %d of %d documents live: %w", s.Name, s.NumLive, s.NumDocs, base.ErrCorrupt)
		case s.Former < 0, s.Former > s.NumDocs, s.Former > 0 && m.Options.shape() == 0:
			return fmt.Errorf("segment %s: %d of %d documents of a former shape: %w", s.Name, s.Former, s.NumDocs, base.ErrCorrupt)
		case number >= m.NextSegment, seen[number]:
			return fmt.Errorf("segment %s twice, or not before the next, %d: %w", s.Name, m.NextSegment, base.ErrCorrupt)
		}
		seen[number] = true
		total += int64(s.NumDocs)
	}
	if total > base.MaxDocs {
		return fmt.Errorf("%d documents, at most %d: %w", total, int64(base.MaxDocs), base.ErrCorrupt)
	}
	return nil
}

// names returns the files and folders that the manifest names, and the commit's
// impact-ordered lists.
func (m *manifest) names() map[string]bool {
	names := map[string]bool{manifestName: true, lockName: true, LogName: true, impactsName(m.Generation): true}
	for _, s := range m.Segments {
		names[s.Name] = true
		if s.Live != "" {
			names[s.Live] = true
		}
	}
	return names
}

// ours reports whether writers make files of this name, or it is a cost model's
// temporary file. Cost models (cost.FileName) belong to machines, not commits.
func ours(name string) bool {
	return name == manifestName || name == manifestTemp || name == CheckpointName || name == checkpointTemp || name == lockName || name == tempName || name == LogName ||
		segmentPattern.MatchString(name) || livePattern.MatchString(name) || name == impactsTemp || impactsPattern.MatchString(name) ||
		cost.IsTemp(name)
}

// loadManifest returns an error that wraps base.ErrNotIndex if there is no manifest.
func loadManifest(fsys vfs.FS, dir string) (*manifest, error) {
	name := filepath.Join(dir, manifestName)
	f, err := fsys.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil, fmt.Errorf("%s: %w", dir, base.ErrNotIndex)
		}
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxManifestLen))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, vfs.PathError("read", name, err)
	}
	m, err := parseManifest(data)
	if err != nil && !bytes.HasPrefix(data, []byte(base.ManifestMagic)) && !hasSegments(fsys, dir) {
		return nil, fmt.Errorf("%s was not written by Griffin: %w", name, base.ErrNotIndex)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

func hasSegments(fsys vfs.FS, dir string) bool {
	names, err := fsys.ReadDir(dir)
	return err != nil || slices.ContainsFunc(names, segmentPattern.MatchString)
}

// save replaces the manifest. If the new one is in place (renamed), an error means that
// the folder could not be synced: a power failure may restore the old one.
func (m *manifest) save(fsys vfs.FS, dir string) (renamed bool, err error) {
	data, err := m.encodeValid()
	if err != nil {
		return false, err
	}
	temp := filepath.Join(dir, manifestTemp)
	if err := vfs.WriteFile(fsys, temp, data); err != nil {
		return false, errors.Join(vfs.PathError("write", temp, err), ignoreMissing(fsys.Remove(temp)))
	}
	if err := fsys.Rename(temp, filepath.Join(dir, manifestName)); err != nil {
		return false, errors.Join(err, ignoreMissing(fsys.Remove(temp)))
	}
	return true, fsys.SyncDir(dir)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
