package codec

import "github.com/griffin-search/griffin/internal/base"

// ErrCorrupt is wrapped by every error of a decoder: the bytes, or the width
// given with them, are not what an encoder returned.
var ErrCorrupt = base.ErrCorrupt

// ErrUnknown is wrapped by the error of Lookup for a name that no codec has.
var ErrUnknown = base.ErrBadInput
