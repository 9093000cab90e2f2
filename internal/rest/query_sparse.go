package rest

import (
	"encoding/json"

	"github.com/griffin-search/griffin/query"
)

// neuralSparse reads tokens and weights. max_token_score only bounds scores in OpenSearch; bounds here are exact.
func (p *queryParser) neuralSparse(raw json.RawMessage) (query.Node, *Error) {
	const name = "neural_sparse"
	field, value, err := single(name, raw)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"query_text", "model_id", "analyzer"} {
		if given, err := decodeObject(value); err == nil && given[key] != nil {
			return nil, badRequest(typeParsing, "[%s] query does not support [%s]: there are no models here; give [query_tokens], an object of tokens and weights, as the model makes them of the text", name, key).at(given[key])
		}
	}
	o, err := options(name, value, "query_tokens", "max_token_score", "boost")
	if err != nil {
		return nil, err
	}
	if o.number("max_token_score", 1, 0, 1e30); o.err != nil {
		return nil, o.err
	}
	if o.values["query_tokens"] == nil {
		return nil, badRequest(typeParsing, "[%s] query needs [query_tokens]", name)
	}
	f, declared := p.x.meta().fields.Field(field)
	if !declared || !f.Type.Vector() {
		return nil, badRequest(typeShardException, "failed to create query: [%s] needs a field of type [sparse_vector] or [rank_features], which [%s] is not", name, field).of(p.x.name).at(value)
	}
	w, bad := query.ParseWeights(string(o.values["query_tokens"]))
	if bad != nil {
		return nil, badRequest(typeParsing, "[%s] query with [query_tokens]: %v", name, bad).at(o.values["query_tokens"])
	}
	w.Field, w.Boost = field, o.boost()
	return w, o.err
}
