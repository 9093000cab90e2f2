package decode_test

import (
	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/decode"
)

// side gives a list of pfordelta-rec its arrays.
func (r *rig) side(d *deviceLists, l *hostList, s *decode.Source) {
	r.t.Helper()
	if _, recursive := l.whole.(codec.PForDeltaRec); !recursive {
		return
	}
	words, err := decode.RecScratch(l.payload, l.n)
	r.must(err)
	arrays, err := decode.NewRecArrays(l.payload, *s, room[uint32](r, words))
	r.must(err)
	for i, level := range arrays.Levels {
		if i == len(d.levels) {
			d.levels = append(d.levels, nil)
		}
		d.levels[i] = append(d.levels[i], level...)
	}
	s.Side = upload(r, arrays.List.Words())
}
