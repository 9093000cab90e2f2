package watch

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/wal"
)

// Types of records. A number is an unsigned varint, a text a length and bytes.
//
//	config   JSON
//	file     number, folder, text         a file is read anew: it is not complete
//	docs     number, entries              before they are written
//	drop     number, texts                ids that the file has no longer, after they were deleted
//	done     number, size, modified, changed, settled
//	gone     number
//	token    text, number                 the token of the Target, and the highest number of a write
//	complete sequence number              the records from there on are a whole state
//
// An entry is a kind (entryOwned, entryShadow), an id and a hash of eight bytes.
const (
	recordConfig = 1 + iota
	recordFile
	recordDocs
	recordDrop
	recordDone
	recordGone
	recordToken
	recordComplete
)

const (
	entryOwned = iota
	entryShadow
)

// journalVersion is the version of the records. Version 1 is the first.
const journalVersion = 1

type config struct {
	Version int      `json:"version"`
	Folders []Folder `json:"folders"`
	Devices []uint64 `json:"devices,omitempty"` // of Folders; none before Griffin remembered them
	Active  []int    `json:"active"`
	Options string   `json:"options"`
}

const (
	journalFileBytes = 4 << 20
	// minCheckpointBytes is the size below which a journal is not written anew.
	minCheckpointBytes = 2 * journalFileBytes
	// maxAppendBytes is about the largest record, and Append. A longer id is not split.
	maxAppendBytes = 1 << 20
)

// journal makes the changes of a state durable.
type journal struct {
	state   *state
	log     wal.Log
	records []wal.Record // not appended yet
	bytes   int          // of records
	limit   int          // maxAppendBytes, or less in tests
	refused bool         // the last commit, by the disk
	// docs is the record under way, of file of.
	docs []byte
	of   *file
	// sizeBytes of the log after the last checkpoint.
	sizeBytes int64
}

// openJournal reads the state. Files that were not complete, or whose documents may not be in the index,
// are not complete.
func openJournal(fsys vfs.FS, dir string) (*journal, error) {
	log, err := wal.Open(fsys, dir, wal.Options{FileBytes: journalFileBytes})
	if err != nil {
		return nil, err
	}
	j := &journal{state: newState(), log: log, limit: maxAppendBytes}
	if err := j.load(dir); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	for _, f := range j.state.files {
		for _, id := range f.since {
			if j.state.docs[id].file == f {
				j.state.doubt(id)
			}
		}
		f.since = nil
	}
	for _, now := range j.state.docs {
		if now.hash == 0 {
			now.file.complete = false
		}
	}
	j.sizeBytes = log.Stats().SizeBytes
	return j, nil
}

func (j *journal) load(dir string) error {
	var start wal.Seq
	err := j.log.Replay(0, func(e wal.Entry) error {
		if d := (decoder{data: e.Payload}); e.Type == recordComplete {
			start = wal.Seq(d.number())
		}
		return nil
	})
	if err != nil {
		return err
	}
	return j.log.Replay(start, func(e wal.Entry) error {
		d := decoder{data: e.Payload}
		err := j.replay(e.Type, &d)
		if err == nil {
			err = d.end()
		}
		if err != nil {
			return fmt.Errorf("%s: record %d: %w", dir, e.Seq, err)
		}
		return nil
	})
}

func (j *journal) replay(kind byte, d *decoder) error {
	s := j.state
	switch kind {
	case recordConfig:
		var c config
		if err := json.Unmarshal(d.rest(), &c); err != nil {
			return fmt.Errorf("%w: %w", err, base.ErrCorrupt)
		}
		if c.Version > journalVersion {
			return fmt.Errorf("version %d, the newest known is %d: %w", c.Version, journalVersion, base.ErrVersion)
		}
		if slices.ContainsFunc(c.Active, func(i int) bool { return i < 0 || i >= len(c.Folders) }) {
			return errDamaged
		}
		s.folders, s.active, s.options = c.Folders, c.Active, c.Options
		s.devices = make([]uint64, len(c.Folders))
		copy(s.devices, c.Devices)
		return nil
	case recordToken:
		s.token, s.seq = d.text(), d.number()
		return nil
	case recordComplete:
		d.number()
		return nil
	case recordFile:
		number, folder, rel := d.number(), d.number(), d.text()
		if folder >= uint64(len(s.folders)) {
			return errDamaged
		}
		k := key{int(folder), rel}
		f := s.files[k]
		if d.failed || f == nil && s.byNumber[number] != nil || f != nil && f.number != number {
			return errDamaged
		}
		if f == nil {
			f = s.add(k, number)
		}
		f.complete = false
		return nil
	}
	f := s.byNumber[d.number()]
	if f == nil {
		return errDamaged
	}
	switch kind {
	case recordDocs:
		j.replayDocs(f, d)
	case recordDrop:
		s.drop(f, d.texts())
	case recordDone:
		f.stamp = stamp{size: int64(d.number()), modified: int64(d.number()), changed: int64(d.number())}
		f.settled, f.complete, f.since = d.number() == 1, true, nil
	case recordGone:
		if len(f.ids) > 0 {
			return errDamaged
		}
		s.remove(f)
	default:
		return fmt.Errorf("type %d: %w", kind, base.ErrVersion)
	}
	return nil
}

func (j *journal) replayDocs(f *file, d *decoder) {
	for len(d.data) > 0 {
		kind, id, hash := d.byte(), d.text(), d.hash()
		if d.failed {
			return
		}
		if kind == entryShadow {
			j.state.shadow(id, f)
			continue
		}
		j.state.take(id, f, hash)
		f.since = append(f.since, id)
	}
}

// drop removes ids of f, and returns files that have to be read again because of it.
func (s *state) drop(f *file, ids []string) (heirs []*file) {
	if len(ids) == 0 {
		return nil
	}
	dropped := make(map[string]bool, len(ids))
	for _, id := range ids {
		dropped[id] = true
	}
	f.ids = slices.DeleteFunc(f.ids, func(id string) bool {
		if !dropped[id] {
			return false
		}
		if heir := s.release(id, f); heir != nil {
			heirs = append(heirs, heir)
		}
		return true
	})
	return heirs
}

func (j *journal) add(kind byte, payload []byte) {
	j.endDocs()
	j.append(kind, payload)
}

func (j *journal) append(kind byte, payload []byte) {
	j.records = append(j.records, wal.Record{Type: kind, Payload: payload})
	j.bytes += len(payload) + recordBytes
}

// recordBytes is the approximate overhead of a record beside its payload.
const recordBytes = 16

// isFull reports whether the added records are to be committed before there are more.
func (j *journal) isFull() bool { return j.bytes+len(j.docs) >= j.limit }

func (j *journal) config() {
	s := j.state
	payload, _ := json.Marshal(config{journalVersion, s.folders, s.devices, s.active, s.options}) // it has only strings and numbers
	j.add(recordConfig, payload)
}

func (j *journal) begin(f *file) {
	b := binary.AppendUvarint(nil, f.number)
	b = binary.AppendUvarint(b, uint64(f.folder))
	j.add(recordFile, appendText(b, f.rel))
}

func (j *journal) entry(f *file, kind byte, id string, hash uint64) {
	if j.of != f {
		j.endDocs()
		j.of, j.docs = f, binary.AppendUvarint(nil, f.number)
	}
	j.docs = appendText(append(j.docs, kind), id)
	if j.docs = binary.LittleEndian.AppendUint64(j.docs, hash); len(j.docs) >= j.limit {
		j.endDocs()
	}
}

func (j *journal) endDocs() {
	if j.of != nil {
		j.append(recordDocs, j.docs)
		j.of, j.docs = nil, nil
	}
}

// drop commits when it is full, so f must have been begun. After an error, too, all is added.
func (j *journal) drop(f *file, ids []string) (err error) {
	for len(ids) > 0 {
		b, n := binary.AppendUvarint(nil, f.number), 0
		for ; n < len(ids) && (n == 0 || len(b) < j.limit); n++ {
			b = appendText(b, ids[n])
		}
		j.add(recordDrop, b)
		if ids = ids[n:]; err == nil {
			err = j.commitIfFull()
		}
	}
	return err
}

func (j *journal) done(f *file) {
	b := binary.AppendUvarint(nil, f.number)
	for _, n := range []int64{f.stamp.size, f.stamp.modified, f.stamp.changed} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	settled := byte(0)
	if f.settled {
		settled = 1
	}
	j.add(recordDone, append(b, settled))
}

func (j *journal) gone(f *file) { j.add(recordGone, binary.AppendUvarint(nil, f.number)) }

func (j *journal) token() {
	j.add(recordToken, binary.AppendUvarint(appendText(nil, j.state.token), j.state.seq))
}

// commit makes the added records durable, all or none. While the disk takes no writes, which is no error of
// errState, they stay for the next commit.
func (j *journal) commit() error {
	j.endDocs()
	if len(j.records) == 0 {
		return nil
	}
	_, err := j.log.Append(j.records)
	if j.refused = refuses(err); j.refused {
		return fmt.Errorf("state of the files: %w", err)
	}
	j.records, j.bytes = nil, 0
	if err != nil {
		return fmt.Errorf("%w: %w", errState, err)
	}
	return nil
}

// refuses reports whether an error is of a disk that takes writes again when there is room, or permission.
func refuses(err error) bool {
	return errors.Is(err, wal.ErrFull) || errors.Is(err, wal.ErrReadOnly) || errors.Is(err, wal.ErrDenied)
}

func (j *journal) commitIfFull() error {
	if !j.isFull() {
		return nil
	}
	return j.commit()
}

var errState = errors.New("state of the files")

// tidy writes the journal anew if most of it is out of date.
func (j *journal) tidy() error {
	if size := j.log.Stats().SizeBytes; size < minCheckpointBytes || size < 3*j.sizeBytes {
		return nil
	}
	return j.checkpoint()
}

// checkpoint appends the whole state, and removes the earlier records. If it ends early, the earlier
// records and the new ones give the same state.
func (j *journal) checkpoint() error {
	first := j.log.Stats().Last + 1
	j.config()
	for _, f := range j.state.sorted() {
		j.begin(f)
		for _, id := range f.ids {
			kind, hash := byte(entryShadow), uint64(0)
			if now := j.state.docs[id]; now.file == f {
				kind, hash = entryOwned, now.hash
			}
			j.entry(f, kind, id, hash)
			if err := j.commitIfFull(); err != nil {
				return err
			}
		}
		if f.complete {
			j.done(f)
		}
		if err := j.commitIfFull(); err != nil {
			return err
		}
	}
	j.token()
	j.add(recordComplete, binary.AppendUvarint(nil, uint64(first)))
	if err := j.commit(); err != nil {
		return err
	}
	if err := j.log.TruncateFront(first); err != nil {
		return err
	}
	j.sizeBytes = j.log.Stats().SizeBytes
	return nil
}

func (j *journal) close() error { return j.log.Close() }

var errDamaged = fmt.Errorf("it contradicts the records before: %w", base.ErrCorrupt)

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decoder reads a payload. After a failure all values are zero.
type decoder struct {
	data   []byte
	failed bool
}

func (d *decoder) end() error {
	if d.failed || len(d.data) > 0 {
		return fmt.Errorf("a record of another length: %w", base.ErrCorrupt)
	}
	return nil
}

func (d *decoder) fail() { d.data, d.failed = nil, true }

func (d *decoder) number() uint64 {
	v, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[n:]
	return v
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.data)) {
		d.fail()
		return nil
	}
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

func (d *decoder) byte() byte {
	if b := d.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (d *decoder) text() string { return string(d.take(d.number())) }

func (d *decoder) texts() (all []string) {
	for len(d.data) > 0 {
		all = append(all, d.text())
	}
	return all
}

func (d *decoder) hash() uint64 {
	if b := d.take(8); len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) rest() []byte { return d.take(uint64(len(d.data))) }
