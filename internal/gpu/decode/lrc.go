package decode

import (
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// atParams mirrors DecodeAtParams.
type atParams struct {
	payload, directory, indexes, out cuda.Ptr[uint32]
	numPostings, count, payloadWords uint32
	_                                uint32
}

// At enqueues decoding single DocIDs: out[i] becomes DocID indexes[i]. Indexes
// are in any order and below the list's NumPostings, which is not checked. It
// allocates nothing, except in the first call for a codec. The error wraps
// ErrShape if buffers do not fit.
//
// Ao et al., PVLDB 4(8), 2011, §5.3. CPU reference: codec.Regression.DocIDAt.
func (k *Kernels) At(s *cuda.Stream, c codec.Regression, l Source, indexes, out cuda.Buffer[uint32]) error {
	n := indexes.Len()
	if out.Len() < n || uint64(n) > 1<<32-1 || l.Payload.Len() == 0 || uint64(l.Payload.Len()) > 1<<32-1 ||
		l.NumPostings < 1 || uint64(l.NumPostings) > 1<<32-1 || l.Directory.Len() < EntryWords*l.NumBlocks() {
		return fmt.Errorf("%d DocIDs of a list of %d in %d words to %d words: %w", n, l.NumPostings, l.Payload.Len(), out.Len(), ErrShape)
	}
	kernel, err := k.atKernel(c.Scheme)
	if err != nil || n == 0 {
		return err
	}
	p := atParams{
		payload: l.Payload.Ptr(), directory: l.Directory.Ptr(), indexes: indexes.Ptr(), out: out.Ptr(),
		numPostings: uint32(l.NumPostings), count: uint32(n), payloadWords: uint32(l.Payload.Len()),
	}
	return cuda.Launch(s, kernel, cuda.D1((n+threads-1)/threads), cuda.D1(threads), 0, &p)
}

func (k *Kernels) atKernel(scheme codec.Scheme) (*cuda.Kernel, error) {
	if int(scheme) >= len(k.at) {
		return nil, fmt.Errorf("no kernel of scheme %d: %w", scheme, ErrShape)
	}
	if loaded := k.at[scheme].Load(); loaded != nil {
		return loaded, nil
	}
	f := families[kindLRC+kind(scheme)]
	loaded, err := load[atParams](k, f.image, "decode_"+f.name+"_at")
	if err != nil {
		return nil, err
	}
	k.at[scheme].Store(loaded)
	return loaded, nil
}
