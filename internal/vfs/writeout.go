package vfs

// Paced is a File of which ranges can be written to the disk before a Sync. Neither method makes a range durable.
// After an error the file is lost: the system may report it only once, here.
type Paced interface {
	File
	// StartWriting begins to write a range to the disk.
	StartWriting(offset, length int64) error
	// AwaitWriting waits until a range is written.
	AwaitWriting(offset, length int64) error
	// Forget lets the system use the memory of a written range for other files. A later read comes from the disk.
	Forget(offset, length int64) error
}

// Pace returns f as a Paced, or nil if the system cannot.
func Pace(f File) Paced {
	if p, ok := f.(Paced); ok {
		return p
	}
	if file, ok := f.(osFile); ok {
		return pacedFile{file}
	}
	return nil
}

type pacedFile struct{ osFile }

func (f pacedFile) StartWriting(offset, length int64) error {
	return startWriting(f.File, offset, length)
}

func (f pacedFile) AwaitWriting(offset, length int64) error {
	return awaitWriting(f.File, offset, length)
}

func (f pacedFile) Forget(offset, length int64) error { return forget(f.File, offset, length) }
