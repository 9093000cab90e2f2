package rest

import (
	"encoding/json"

	"github.com/griffin-search/griffin/query"
)

// termsSet reads {"terms_set": {FIELD: {"terms": […], "minimum_should_match_field": FIELD}}}.
func termsSet(p *queryParser, raw json.RawMessage) (query.Node, *Error) {
	name, value, err := single("terms_set", raw)
	if err != nil {
		return nil, err
	}
	o, err := options("terms_set", value, "terms", "minimum_should_match_field", "minimum_should_match_script", "boost")
	if err != nil {
		return nil, err
	}
	if o.values["minimum_should_match_script"] != nil {
		return nil, illegal("[terms_set] query of field [%s] has a script, which is not supported: use [minimum_should_match_field]", name).at(o.values["minimum_should_match_script"])
	}
	n := &query.TermsSet{Values: o.texts("terms"), AtLeast: o.needed("minimum_should_match_field"), Boost: o.boost()}
	if o.err != nil {
		return nil, o.err
	}
	if n.Field, err = p.x.field(name); err != nil {
		return nil, err.at(value)
	}
	n.AtLeast, err = p.x.field(n.AtLeast)
	return n, err.at(o.values["minimum_should_match_field"])
}
