package griffin

import (
	"context"

	"github.com/griffin-search/griffin/internal/vfs"
)

// Versioned returns the visible document with the given id and its version. Writer.Get also
// returns writes that are not visible yet. The error wraps ErrNotFound if there is none.
func (ix *Index) Versioned(ctx context.Context, id string) (_ VersionedDocument, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	return ix.versioned(ctx, id)
}
