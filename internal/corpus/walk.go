package corpus

import (
	"cmp"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/griffin-search/griffin/internal/base"
)

// walker lists the files below a folder, without hidden entries (leading dot) and Griffin
// indexes. Symbolic links are followed last, and no folder is listed twice, so that loops end.
type walker struct {
	root    string
	files   []input         // id is the path relative to root, with slashes
	listed  map[string]bool // resolved paths of the folders listed
	folders []string        // those listed, in the order of visits
	links   []string        // relative paths of links to be followed
	linked  bool            // there were links
	skipped []SkippedFile
}

// walk lists the files below root, sorted by relative path. An unreadable file or folder
// is an input with an error.
func walk(root string) (files []input, skipped []SkippedFile) {
	w := newWalk(root)
	return w.files, w.skipped
}

func newWalk(root string) *walker {
	w := &walker{root: root, listed: map[string]bool{}}
	w.folder("")
	for len(w.links) > 0 {
		link := w.links[0]
		w.links = w.links[1:]
		w.follow(link)
	}
	base.Sort(w.files, func(a, b input) int { return cmp.Compare(a.id, b.id) })
	return w
}

// folder lists a folder; rel is its path relative to the root, "" for the root.
func (w *walker) folder(rel string) {
	path := filepath.Join(w.root, filepath.FromSlash(rel))
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		w.fail(rel, err)
		return
	}
	if resolved, err = filepath.Abs(resolved); err != nil {
		w.fail(rel, err)
		return
	}
	if w.listed[resolved] {
		return
	}
	w.listed[resolved] = true
	if isIndex(path) {
		w.skip(rel, skippedIndex)
		return
	}
	w.folders = append(w.folders, path)
	entries, err := os.ReadDir(path)
	if err != nil {
		w.fail(rel, err) // the entries read before the error are used
	}
	for _, e := range entries {
		child := e.Name()
		if rel != "" {
			child = rel + "/" + child
		}
		switch {
		case IsHidden(e.Name()):
			if !e.IsDir() {
				w.skip(child, skippedHidden)
			}
		case e.IsDir():
			w.folder(child)
		case e.Type()&fs.ModeSymlink != 0:
			w.links, w.linked = append(w.links, child), true
		default:
			info, err := e.Info()
			w.file(child, info, err)
		}
	}
}

func isIndex(dir string) bool {
	f, err := os.Open(filepath.Join(dir, base.ManifestName))
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, len(base.ManifestMagic))
	_, err = io.ReadFull(f, magic)
	return err == nil && string(magic) == base.ManifestMagic
}

func (w *walker) follow(rel string) {
	path := filepath.Join(w.root, filepath.FromSlash(rel))
	info, err := os.Stat(path)
	switch {
	case err != nil:
		w.fail(rel, err)
	case info.IsDir():
		w.folder(rel)
	case w.isListed(path):
		w.skip(rel, skippedLink)
	default:
		w.file(rel, info, nil)
	}
}

// isListed reports whether the target of a link to a file was listed under its own name.
func (w *walker) isListed(path string) bool {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if resolved, err = filepath.Abs(resolved); err != nil {
		return false
	}
	return w.listed[filepath.Dir(resolved)] && !IsHidden(filepath.Base(resolved))
}

func (w *walker) file(rel string, info fs.FileInfo, err error) {
	switch {
	case err != nil:
		w.fail(rel, err)
	case !info.Mode().IsRegular():
		w.skip(rel, skippedDevice)
	default:
		w.files = append(w.files, input{path: filepath.Join(w.root, filepath.FromSlash(rel)), id: rel, sizeBytes: info.Size(), info: info})
	}
}

func (w *walker) skip(rel, reason string) {
	w.skipped = append(w.skipped, SkippedFile{filepath.Join(w.root, filepath.FromSlash(rel)), reason})
}

func (w *walker) fail(rel string, err error) {
	w.files = append(w.files, input{path: filepath.Join(w.root, filepath.FromSlash(rel)), id: rel, err: err})
}
