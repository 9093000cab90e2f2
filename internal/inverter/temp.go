package inverter

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
)

// Distinct names in one temporary folder, safe for concurrent use.
type tempNames struct {
	dir  string
	last atomic.Int64
}

func (t *tempNames) next(kind string) string {
	return filepath.Join(t.dir, fmt.Sprintf("%s-%06d", kind, t.last.Add(1)))
}
