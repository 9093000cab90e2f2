package corpus

import (
	"io/fs"
	"strings"
)

// ListedFile is a file below a folder.
type ListedFile struct {
	Path string // to open it, and in messages
	Rel  string // relative to the folder, with slashes
	// Info describes the file, for a symbolic link its target; nil with Err.
	Info fs.FileInfo
	// Err is why the file, or the folder with this path, cannot be read.
	Err error
}

// Listing is the content of a folder.
type Listing struct {
	Files   []ListedFile // sorted by Rel
	Folders []string     // whose entries are in Files: the folder itself and those below it
	Skipped []SkippedFile
	// Linked means that there are symbolic links: a listing of a folder above may leave out, or have in another place, their targets.
	Linked bool
}

// List lists the files that Open reads of a folder. The error is about the folder itself.
func List(folder string) (*Listing, error) {
	w := newWalk(folder)
	l := &Listing{Folders: w.folders, Skipped: w.skipped, Linked: w.linked}
	for _, in := range w.files {
		if in.id == "" {
			return nil, in.err
		}
		l.Files = append(l.Files, ListedFile{Path: in.path, Rel: in.id, Info: in.info, Err: in.err})
	}
	return l, nil
}

// IsHidden reports whether List leaves out a file or folder because of its name.
func IsHidden(name string) bool { return strings.HasPrefix(name, ".") }

// OpenListed returns a Reader of the files of a folder, in their order; those with an error
// are bad records. The ids of files start with prefix, if it is not empty, as Open has it for a
// folder that is one of several paths.
func OpenListed(files []ListedFile, prefix string, opts Options) (Reader, error) {
	r := &reader{opts: opts.withDefaults()}
	f, err := findFormat(r.opts.Format)
	if err != nil {
		return nil, err
	}
	if f.name == formatAuto {
		f = nil
	}
	for i := range files {
		in := input{path: files[i].Path, id: files[i].Rel, info: files[i].Info, err: files[i].Err, format: f, listed: true}
		if prefix != "" {
			in.id = prefixedID(prefix, in.id)
		}
		if in.info != nil {
			in.sizeBytes = in.info.Size()
		}
		r.total += in.sizeBytes
		r.append(in)
	}
	return r, nil
}
