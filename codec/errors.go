package codec

import "github.com/griffin-search/griffin/internal/base"

// ErrCorrupt is wrapped by every decoding error: the bytes or width are not an encoder's
// output.
var ErrCorrupt = base.ErrCorrupt

// ErrUnknown is wrapped by Lookup's error for an unknown name.
var ErrUnknown = base.ErrBadInput
