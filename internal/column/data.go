package column

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// Data is the payload of a file, as of a sealed.File.
type Data interface {
	// Bytes returns the payload. Slack bytes after its end are readable.
	Bytes() []byte
	// Check verifies a range of the payload. The error wraps base.ErrCorrupt.
	Check(offset, length uint64) error
}

// Slack is the number of readable bytes that follow the Bytes of Data.
const Slack = 16

// Memory returns Data that a Writer wrote to memory. It may extend payload.
func Memory(payload []byte) Data {
	n := len(payload)
	return memory(append(payload, make([]byte, Slack)...)[:n])
}

type memory []byte

func (m memory) Bytes() []byte { return m }

func (m memory) Check(offset, length uint64) error {
	if n := uint64(len(m)); offset > n || length > n-offset {
		return fmt.Errorf("bytes %d+%d of %d: %w", offset, length, n, base.ErrCorrupt)
	}
	return nil
}

// read returns a checked range, with Slack bytes more in its capacity.
func read(d Data, offset, length uint64) ([]byte, error) {
	if err := d.Check(offset, length); err != nil {
		return nil, err
	}
	return d.Bytes()[offset : offset+length], nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, base.ErrCorrupt)...)
}
