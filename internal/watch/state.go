package watch

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
)

// Folder is a folder that is followed.
type Folder struct {
	// Path is absolute.
	Path string `json:"path"`
	// Prefix begins the ids of its files and is empty for a single folder, as in corpus.OpenListed.
	Prefix string `json:"prefix"`
}

// stamp changes when a file changes, with a resolution of time.
type stamp struct {
	size, modified int64
	changed        int64 // time of the last change of content or attributes; 0 if the system has none
}

func stampOf(info os.FileInfo) stamp {
	return stamp{size: info.Size(), modified: info.ModTime().UnixNano(), changed: changeTime(info)}
}

// age is the time since the last change.
func (s stamp) age(now time.Time) time.Duration {
	return time.Duration(now.UnixNano() - max(s.modified, s.changed))
}

// settledAge is the age from which on a later change must have another stamp. FAT stores times in
// two seconds.
const settledAge = 3 * time.Second

// key names a file: the number of its folder in state.folders, and its path below it.
type key struct {
	folder int
	rel    string
}

// file is the known state of a file.
type file struct {
	key
	number uint64 // in the log
	// complete means that the index has the documents of the file as it was at stamp, but for shadows.
	// Otherwise it is read again.
	complete bool
	// settled means that stamp shows all later changes.
	settled bool
	stamp   stamp
	// ids are of the documents of the file that the index may have, and of shadows. Each is there once.
	ids []string

	since     []string  // while the log is read: the ids written since the file was begun
	notBefore time.Time // a large file is not read all the time
}

// content is a document that the index has.
type content struct {
	file *file
	hash uint64 // of the document; 0: unknown
}

// state is which document of the index came from which file. If several files have a document of the
// same id, the index has the one of the last, in the order of griffin index; the others are shadows.
type state struct {
	folders  []Folder // all that were ever followed
	devices  []uint64 // of folders, when their files were last there; 0: not known
	active   []int    // numbers of folders that are followed, in their order
	options  string   // how files are read
	token    string   // of the Target when all was known to be in it
	seq      uint64   // the highest number of a write
	files    map[key]*file
	byNumber map[uint64]*file
	next     uint64 // number of the next new file
	docs     map[string]content
	shadows  map[string][]*file
}

func newState() *state {
	return &state{files: map[key]*file{}, byNumber: map[uint64]*file{}, docs: map[string]content{}, shadows: map[string][]*file{}, next: 1}
}

// compare orders files as griffin index reads them. Folders that are not followed any more are first.
func (s *state) compare(a, b *file) int {
	return cmp.Or(
		cmp.Compare(slices.Index(s.active, a.folder), slices.Index(s.active, b.folder)),
		cmp.Compare(a.rel, b.rel), cmp.Compare(a.folder, b.folder),
	)
}

func (s *state) add(k key, number uint64) *file {
	f := &file{key: k, number: number}
	s.files[k], s.byNumber[number] = f, f
	s.next = max(s.next, number+1)
	return f
}

func (s *state) remove(f *file) {
	delete(s.files, f.key)
	delete(s.byNumber, f.number)
}

// shadowed reports whether another file, which comes later, has the id.
func (s *state) shadowed(id string, f *file) bool {
	now, ok := s.docs[id]
	return ok && now.file != f && s.compare(now.file, f) > 0
}

// take sets that the document of the index is the one of f.
func (s *state) take(id string, f *file, hash uint64) {
	now, ok := s.docs[id]
	switch {
	case ok && now.file == f:
	case s.unshadow(id, f):
	default:
		f.ids = append(f.ids, id)
	}
	if ok && now.file != f {
		s.shadows[id] = append(s.shadows[id], now.file)
	}
	s.docs[id] = content{f, hash}
}

// shadow sets that f has the id, but not the document of the index.
func (s *state) shadow(id string, f *file) {
	if slices.Contains(s.shadows[id], f) {
		return
	}
	f.ids = append(f.ids, id)
	s.shadows[id] = append(s.shadows[id], f)
}

func (s *state) unshadow(id string, f *file) bool {
	all := s.shadows[id]
	i := slices.Index(all, f)
	if i < 0 {
		return false
	}
	if all = slices.Delete(all, i, i+1); len(all) == 0 {
		delete(s.shadows, id)
	} else {
		s.shadows[id] = all
	}
	return true
}

// doubt sets that the content of the document in the index is not known.
func (s *state) doubt(id string) {
	if now, ok := s.docs[id]; ok {
		s.docs[id] = content{now.file, 0}
	}
}

// last reports whether the id is in the index because of f alone: the document goes with it.
func (s *state) last(id string, f *file) bool {
	return s.docs[id].file == f && len(s.shadows[id]) == 0
}

// release sets that f has no longer the id. If its document was in the index, and another file has the
// id, that file is returned: it has to be read again. The caller corrects f.ids.
func (s *state) release(id string, f *file) (heir *file) {
	if s.docs[id].file != f {
		s.unshadow(id, f)
		return nil
	}
	if len(s.shadows[id]) == 0 {
		delete(s.docs, id)
		return nil
	}
	heir = slices.MaxFunc(s.shadows[id], s.compare)
	s.unshadow(id, heir)
	s.docs[id] = content{heir, 0}
	heir.complete = false
	return heir
}

// follow sets the folders, and reports whether others were followed before.
func (s *state) follow(folders []Folder) (changed bool) {
	before := s.active
	s.active = nil
	for _, f := range folders {
		i := slices.Index(s.folders, f)
		if i < 0 {
			i = len(s.folders)
			s.folders, s.devices = append(s.folders, f), append(s.devices, 0)
		}
		s.active = append(s.active, i)
	}
	return len(before) > 0 && !slices.Equal(before, s.active)
}

// sorted are all files in the order of compare.
func (s *state) sorted() []*file {
	all := make([]*file, 0, len(s.files))
	for _, f := range s.files {
		all = append(all, f)
	}
	slices.SortFunc(all, s.compare)
	return all
}

// check returns an error if the parts of the state contradict each other.
func (s *state) check() error {
	n := 0
	for _, f := range s.files {
		seen := map[string]bool{}
		for _, id := range f.ids {
			if seen[id] {
				return fmt.Errorf("%s has id %q twice", f.rel, id)
			}
			seen[id] = true
			if s.docs[id].file != f && !slices.Contains(s.shadows[id], f) {
				return fmt.Errorf("%s has id %q, which it neither owns nor shadows", f.rel, id)
			}
			n++
		}
	}
	for id, c := range s.docs {
		if s.files[c.file.key] != c.file {
			return fmt.Errorf("id %q is of a file that is gone, %s", id, c.file.rel)
		}
		n--
	}
	for id, files := range s.shadows {
		if _, ok := s.docs[id]; !ok || len(files) == 0 {
			return fmt.Errorf("id %q has shadows but no document", id)
		}
		n -= len(files)
	}
	if n != 0 {
		return fmt.Errorf("%d ids of files are missing or too many", n)
	}
	return nil
}

// hashOf is not 0.
func hashOf(d *corpus.Document) uint64 { return max(contentHash(d), 1) }
