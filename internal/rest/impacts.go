package rest

import (
	"errors"
	"net/http"
	"time"

	"github.com/griffin-search/griffin"
)

// buildImpacts makes impact-ordered lists, for searches in mode saat.
func buildImpacts(r *request) (answer, *Error) {
	x, err := r.h.dir.find(r.PathValue("index"))
	if err != nil {
		return answer{}, err
	}
	body, err := r.body()
	if err != nil {
		return answer{}, err
	}
	opts, err := impactOptions(body)
	if err != nil {
		return answer{}, err
	}
	_ = http.NewResponseController(r.w).SetWriteDeadline(time.Time{}) // it reads all posting lists
	stats, buildErr := x.writer.BuildImpacts(r.Context(), opts)
	if errors.Is(buildErr, griffin.ErrImpactsChanged) {
		return answer{}, &Error{Status: http.StatusConflict, Type: typeConflict, Reason: griffin.ErrImpactsChanged.Error(), Index: x.name}
	}
	if buildErr != nil {
		return answer{}, r.h.explain(r.Context(), x, buildErr)
	}
	return ok(stats)
}

func impactOptions(body []byte) (opts griffin.ImpactOptions, _ *Error) {
	if len(body) == 0 {
		return opts, nil
	}
	var k1, b *float32
	fault := decodeMembers(body, body, map[string]any{
		"ranking": &opts.Ranking, "k1": &k1, "b": &b, "codec": &opts.Codec, "bitmap_bits": &opts.BitmapBits,
	})
	switch {
	case fault != nil:
		return opts, badRequest(typeParsing, "the body: %s", fault)
	case (k1 == nil) != (b == nil):
		return opts, illegal("[k1] and [b] are given together")
	case k1 != nil:
		opts.BM25 = &griffin.BM25{K1: *k1, B: *b}
	}
	return opts, nil
}
