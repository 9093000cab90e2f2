package codec

import (
	"fmt"
	"slices"
	"strings"
)

// Default is the name of the codec that an index gets unless told otherwise.
const Default = "simdbp"

// codecs holds every codec by its name.
var codecs = map[string]Codec{
	Raw{}.Name():    Raw{},
	SIMDBP{}.Name(): SIMDBP{},
}

// Lookup returns the codec with the given name, or an error that wraps
// ErrUnknown and lists the names there are.
func Lookup(name string) (Codec, error) {
	c, ok := codecs[name]
	if !ok {
		return nil, fmt.Errorf("codec %q (there are: %s): %w", name, strings.Join(Names(), ", "), ErrUnknown)
	}
	return c, nil
}

// Names returns the names of all codecs, sorted.
func Names() []string {
	names := make([]string, 0, len(codecs))
	for name := range codecs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
