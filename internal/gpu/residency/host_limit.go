package residency

// HostMemory limits the page-locked host memory for compressed lists. The zero value allows
// half of the available memory, divided by the engines that share it (Share).
type HostMemory struct {
	Memory
	None  bool
	Share int // number of engines; 0: 1
}

// ParseHostMemory accepts the syntax of ParseMemory, "0" for none, and "" for half of the
// available memory. The error wraps base.ErrBadInput.
func ParseHostMemory(text string) (HostMemory, error) {
	if text == "0" {
		return HostMemory{None: true}, nil
	}
	m, err := parseMemory("page-locked memory", text)
	return HostMemory{Memory: m}, err
}

// limit returns the bytes that lists may take, with indexBytes of posting lists. It leaves at
// least a quarter of the available memory for the page cache, since page-locked memory cannot
// be swapped out.
func (m HostMemory) limit(available, indexBytes int64) int64 {
	available /= int64(max(m.Share, 1))
	most := available / 4 * 3
	switch {
	case m.None:
		return 0
	case m.Bytes > 0:
		return min(m.Bytes, most)
	case m.Percent > 0:
		return min(int64(m.Percent/100*float64(indexBytes)), most)
	}
	return available / 2
}
