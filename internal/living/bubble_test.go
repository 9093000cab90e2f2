package living

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// prepare makes the shared encoders and decoders of stored documents, whose channels would belong to
// the first bubble that uses them.
var prepared sync.Once

func prepare(t *testing.T) {
	mem := vfstest.NewMem()
	ix := create(t, mem, "ix")
	w, err := ix.Writer(index.WriterOptions{})
	check(t, err)
	check(t, w.Add(&corpus.Document{ID: "a", Text: "griffin"}))
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	s, err := ix.Snapshot()
	check(t, err)
	var doc segment.StoredDoc
	check(t, s.Segments[0].Stored(base.DocID(0), &doc))
	s.Release()
	check(t, ix.Close())
}

// errorLog collects errors of a store.
type errorLog struct {
	mu   sync.Mutex
	errs []error
}

func (l *errorLog) add(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
}

func (l *errorLog) all() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.errs)
}

// bubble runs a test with a clock that advances when all goroutines wait.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	prepared.Do(func() { prepare(t) })
	synctest.Test(t, test)
}
