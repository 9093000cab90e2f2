package codec

import (
	"fmt"
	"slices"
	"strings"
)

// Default is the name of the default codec.
const Default = "simdbp"

type family struct {
	name string
	// make takes each parameter it knows; Lookup reports errors.
	make   func(p *params) Codec
	params string
}

var families = []family{
	{name: "ef", make: newEF, params: "plain=0 (1: as in the paper)"},
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

// Lookup returns the codec of a specification: a name and non-default parameters, as in
// "pfordelta:exceptions=0.05". The error wraps ErrUnknown and lists the valid names, parameters
// or values.
func Lookup(spec string) (Codec, error) {
	name, rest, hasParams := strings.Cut(spec, ":")
	i := slices.IndexFunc(families, func(f family) bool { return f.name == name })
	if i < 0 {
		return nil, fmt.Errorf("codec %q (known: %s): %w", name, strings.Join(Names(), ", "), ErrUnknown)
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

// Parameters describes a codec's parameters in a line, "" if there are none: for the help of
// programs that pass specifications of their users to Lookup.
func Parameters(name string) string {
	for _, f := range families {
		if f.name == name {
			return f.params
		}
	}
	return ""
}
