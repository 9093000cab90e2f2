package decode_test

import (
	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

func (r *rig) side(d *deviceLists, l *hostList, s *decode.Source) {
	r.Helper()
	if _, recursive := l.whole.(codec.PForDeltaRec); !recursive {
		return
	}
	words, err := decode.RecScratch(l.payload, l.n)
	r.Must(err)
	arrays, err := decode.NewRecArrays(l.payload, *s, gputest.Alloc[uint32](r.Session, words))
	r.Must(err)
	for i, level := range arrays.Levels {
		if i == len(d.levels) {
			d.levels = append(d.levels, nil)
		}
		d.levels[i] = append(d.levels[i], level...)
	}
	s.Side = gputest.Upload(r.Session, arrays.List.Words())
}
