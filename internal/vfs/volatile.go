package vfs

// Volatile returns a file system whose files need not survive a crash: syncs do nothing.
func Volatile(fsys FS) FS { return volatileFS{fsys} }

type volatileFS struct{ FS }

func (f volatileFS) Create(name string) (File, error) {
	file, err := f.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return volatileFile{file}, nil
}

func (volatileFS) SyncDir(string) error { return nil }

type volatileFile struct{ File }

func (volatileFile) Sync() error { return nil }
