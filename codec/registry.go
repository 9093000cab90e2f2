package codec

import (
	"fmt"
	"slices"
	"strings"
)

// Default is the name of the codec that an index gets unless told otherwise.
const Default = "simdbp"

// family is a codec with its parameters open.
type family struct {
	// name without parameters
	name string
	// make returns the codec with the given parameters. It asks params for each that it
	// knows, with the default of its paper, and need not look at errors.
	make func(p *params) Codec
	// params describes the parameters, for Describe: "" if there are none.
	params string
}

// families holds every codec, sorted by name.
var families = []family{
	{name: "ef", make: func(*params) Codec { return EF{} }},
	{name: "hs-lrc", make: newRegression(HSLRC), params: regressionParams(HSLRC)},
	{name: "lrc", make: newRegression(LRC), params: regressionParams(LRC)},
	{name: "lrcseg", make: newRegression(LRCSeg), params: regressionParams(LRCSeg)},
	{name: "newpfd", make: newNewPFD, params: segmentParams("0.1", "1", "128")},
	{name: "parapfor", make: newParaPFor, params: segmentParams("best", "0.6", "64")},
	{name: "pef", make: func(*params) Codec { return PEF{} }},
	{name: "pfordelta", make: newPForDelta, params: segmentParams("0.1", "1", "128") + ", plain=0 (1: as the papers draw it)"},
	{name: "pfordelta-rec", make: newPForDeltaRec, params: recParams},
	{name: "qmx", make: func(*params) Codec { return QMX{} }},
	{name: "raw", make: func(*params) Codec { return Raw{} }},
	{name: "rice", make: func(*params) Codec { return Rice{} }},
	{name: "seglrc", make: newRegression(SegLRC), params: regressionParams(SegLRC)},
	{name: "simdbp", make: func(*params) Codec { return SIMDBP{} }},
	{name: "vbyte", make: func(*params) Codec { return VByte{} }},
}

// Lookup returns the codec of a specification: a name, alone or with parameters
// that differ from the codec's defaults, as in "pfordelta:exceptions=0.05". The
// error wraps ErrUnknown and says which names, parameters or values there are.
func Lookup(spec string) (Codec, error) {
	name, rest, hasParams := strings.Cut(spec, ":")
	i := slices.IndexFunc(families, func(f family) bool { return f.name == name })
	if i < 0 {
		return nil, fmt.Errorf("codec %q (there are: %s): %w", name, strings.Join(Names(), ", "), ErrUnknown)
	}
	p, err := parseParams(rest, hasParams)
	if err != nil {
		return nil, fmt.Errorf("codec %q: %w", spec, err)
	}
	c := families[i].make(p)
	if err := p.err(); err != nil {
		return nil, fmt.Errorf("codec %q: %w", spec, err)
	}
	return c, nil
}

// Names returns the names of all codecs, sorted.
func Names() []string {
	names := make([]string, 0, len(families))
	for _, f := range families {
		names = append(names, f.name)
	}
	return names
}

// Parameters returns a line on the parameters of the codec of a name, "" if it
// has none or there is no such codec.
func Parameters(name string) string {
	for _, f := range families {
		if f.name == name {
			return f.params
		}
	}
	return ""
}
