package griffin

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/staging"
)

// Replace puts a new index at the folder dir. If there is none, it calls build(dir); else build
// makes the new index in a folder beside it, and Replace exchanges the two in one step
// (atomically on Linux) and removes the old one, which open readers keep until Refresh. If
// build returns an error, or leaves no index, the index at dir stays unchanged. build must
// commit and close its index. An Index that is open at dir searches the new one, and writes to
// it, after Refresh.
//
// Replace holds the write lock of the old index, since changes to it would be lost: the error
// wraps ErrLocked if it has uncommitted changes.
func Replace(dir string, build func(dir string) error) (err error) {
	ix, err := Open(dir, Options{})
	if errors.Is(err, ErrNotIndex) {
		if err := build(dir); err != nil { // Create checks for other files
			return err
		}
		return checkBuilt(dir)
	}
	if err != nil {
		return fmt.Errorf("%s holds an index that cannot be read and is not replaced; remove it yourself: %w", dir, err)
	}
	lock, err := ix.ix.Lock()
	if err != nil {
		return errors.Join(err, ix.Close())
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := ix.Close(); err != nil {
		return err
	}
	folder, err := staging.New(dir)
	if err != nil {
		return err
	}
	defer func() {
		if removeErr := folder.Remove(); err == nil {
			err = removeErr
		}
	}()
	if err := build(folder.Dir); err != nil {
		return err
	}
	if err := checkBuilt(folder.Dir); err != nil {
		return err
	}
	return folder.MoveTo(dir)
}

// checkBuilt returns an error if a function of Replace has left no index at dir.
func checkBuilt(dir string) error {
	ix, err := Open(dir, Options{})
	if err != nil {
		return fmt.Errorf("the function that builds the new index has left none: %w", err)
	}
	return ix.Close()
}
