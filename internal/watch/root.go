package watch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

// ErrEmptied means that a folder lacks its files because it is not mounted, or was emptied. Its documents
// stay. It wraps base.ErrBadInput.
var ErrEmptied = fmt.Errorf("is it mounted? Its documents stay: %w", base.ErrBadInput)

var (
	errNoFiles     = fmt.Errorf("the folder has no files any more; %w", ErrEmptied)
	errOtherDevice = fmt.Errorf("the folder is on another device and lacks most of its files; %w", ErrEmptied)
	errMounting    = errors.New("the folder was mounted, or unmounted, while it was listed")
)

// roots are the folders as scans found them.
type roots struct {
	deviceOf func(os.FileInfo) uint64 // 0: not known
	devices  map[int]uint64           // of the last scan
	held     map[int]bool             // their files are not what they should be
}

func newRoots() roots {
	return roots{deviceOf: deviceOf, devices: map[int]uint64{}, held: map[int]bool{}}
}

// device returns the one of a folder.
func (r *roots) device(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return r.deviceOf(info), nil
}

// listRoot lists a folder that is followed. After an error, the known state of its files stays.
func (w *Watcher) listRoot(number int, root string, known map[int]int) (*corpus.Listing, error) {
	w.followed.held[number] = true
	device, err := w.followed.device(root)
	if err != nil {
		return nil, err
	}
	if before, ok := w.followed.devices[number]; ok && before != device {
		w.scanned.stale[root] = true // watches are of the files of the other device
	}
	w.followed.devices[number] = device
	l, err := w.list(number, root)
	if err != nil {
		return nil, err
	}
	switch after, err := w.followed.device(root); {
	case err != nil:
		return nil, err
	case after != device:
		return nil, errMounting
	}
	if !w.opts.AllowEmpty {
		if err := w.state.checkRoot(number, l, device, known[number]); err != nil {
			return nil, err
		}
	}
	w.followed.held[number] = false
	if w.state.devices[number] != device {
		w.state.devices[number] = device
		w.journal.config()
	}
	return l, nil
}

// checkRoot finds out whether a folder lacks its files as one does that is not mounted. Another device is
// no evidence alone: the number of a network file system can change with each mount.
func (s *state) checkRoot(number int, l *corpus.Listing, device uint64, known int) error {
	switch {
	case known == 0:
		return nil
	case len(l.Files) == 0:
		return errNoFiles
	case !s.isOtherDevice(number, device):
		return nil
	}
	there := 0
	for i := range l.Files {
		f := s.files[key{number, l.Files[i].Rel}]
		if f != nil && len(f.ids) > 0 && !errors.Is(l.Files[i].Err, fs.ErrNotExist) {
			there++
		}
	}
	if 2*there < known {
		return errOtherDevice
	}
	return nil
}

func (s *state) isOtherDevice(number int, device uint64) bool {
	before := s.devices[number]
	return before != 0 && device != 0 && before != device
}

// withDocs counts the files of each folder that have documents.
func (s *state) withDocs() map[int]int {
	n := map[int]int{}
	for k, f := range s.files {
		if len(f.ids) > 0 {
			n[k.folder]++
		}
	}
	return n
}

// inPlace leaves out files of folders that are not as the last scan found them, or that are empty now: the
// next scan finds out why. It is called after the files were looked at.
func (w *Watcher) inPlace(files []*reading) []*reading {
	checked := map[int]bool{}
	return slices.DeleteFunc(files, func(r *reading) bool {
		if !w.follows(r.key) {
			return false
		}
		ok, done := checked[r.folder]
		if !done {
			ok = w.isInPlace(r.folder, r.gone)
			checked[r.folder] = ok
		}
		if !ok {
			delete(w.pending, r.key)
			w.scanSoon(w.opts.Quiet)
		}
		return !ok
	})
}

func (w *Watcher) isInPlace(number int, gone bool) bool {
	root := w.roots[slices.Index(w.state.active, number)]
	device, err := w.followed.device(root)
	if err != nil || w.followed.held[number] || !w.opts.AllowEmpty && w.state.isOtherDevice(number, device) {
		return false
	}
	return !gone || w.opts.AllowEmpty || !isEmpty(root)
}

// isEmpty reports whether a folder has no entries.
func isEmpty(path string) bool {
	d, err := os.Open(path)
	if err != nil {
		return true
	}
	defer d.Close()
	_, err = d.Readdirnames(1)
	return errors.Is(err, io.EOF)
}
