package codec

import "github.com/griffin-search/griffin/internal/base"

// ErrCorrupt is wrapped by every error of a decoder: the bytes, or the width passed with
// them, are not the output of an encoder.
var ErrCorrupt = base.ErrCorrupt

// ErrUnknown is wrapped by the error of Lookup for an unknown name.
var ErrUnknown = base.ErrBadInput
