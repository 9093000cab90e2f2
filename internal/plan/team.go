package plan

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/traverse"
)

// team runs tasks of a query on several processors: ranges of documents, or segments. Each worker takes one task
// after another, in order. It begins each with the best hits of the ended tasks, so that their threshold prunes, and
// adds its own afterwards. Hits of other tasks can be before or after a task's documents, so a document is pruned
// only if its score is below the threshold; ties are decided in the queue. The answer is the same with any
// number of workers.
type team struct {
	crew  *Crew
	owner *stageRun
	n     int64 // tasks
	task  task
	next  atomic.Int64
	ended atomic.Bool // no further task begins

	stopping sync.Mutex // guards the owner's stop
	group    invariant.Group

	mu      sync.Mutex // guards the owner's queue, and what follows
	err     error
	work    Work
	workers int // at present, with the owner
	most    int
}

// task runs a task and returns the range of documents whose hits are in the worker's queue.
type task func(w *worker, i int) (from, to base.DocID, err error)

// worker has the memory of a goroutine of a team.
type worker struct {
	Scratch
	root  iterator // of a tree; nil: no document matches
	built bool     // root is set
	work  Work
}

var workers = sync.Pool{New: func() any { return new(worker) }}

// errEnded ends the other workers after an error.
var errEnded = errors.New("another worker has ended the query")

var _ traverse.Interrupt = (*team)(nil)

// Err is called by several workers; one asks the owner's stop.
func (t *team) Err() error {
	if t.ended.Load() {
		return errEnded
	}
	if !t.stopping.TryLock() {
		return nil
	}
	defer t.stopping.Unlock()
	err := t.owner.stop.Err()
	if err != nil {
		t.fail(err)
	}
	return err
}

// fail keeps the first error, before others see the end of the query.
func (t *team) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil && !errors.Is(err, errEnded) {
		t.err = err
	}
	t.ended.Store(true)
}

// share runs n tasks, with helpers while processors are idle, and adds their work to w.
func (r *stageRun) share(n int, w *Work, f task) error {
	t := &team{crew: r.crew, owner: r, n: int64(n), task: f, workers: 1, most: 1}
	defer func() { // after a panic, too
		t.ended.Store(true)
		t.group.Wait()
	}()
	for t.hire() {
	}
	t.run(nil)
	t.group.Wait()
	w.Add(t.work)
	if t.most > 1 {
		r.workers = max(r.workers, t.most)
		r.mostWorkers = max(r.mostWorkers, t.most)
		t.crew.shared.Add(1)
	}
	return t.err
}

// hire adds a helper if a task and a processor are free.
func (t *team) hire() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if int64(t.workers) >= t.n-t.next.Load() || t.workers >= int(t.crew.perQuery) || !t.crew.hire() {
		return false
	}
	t.workers++
	t.most = max(t.most, t.workers)
	t.group.Go(t.help)
	return true
}

func (t *team) help() {
	released, returned := false, false
	defer func() {
		if !returned {
			t.ended.Store(true)
		}
		if !released {
			t.crew.leave()
		}
	}()
	t.run(&released)
	returned = true
}

// run takes tasks until none is left or, for a helper, another query needs its processor: then it sets released,
// which is nil for the owner.
func (t *team) run(released *bool) {
	w := workers.Get().(*worker)
	run := w.stage(t.owner.plan, t.owner.st, t)
	run.counts, run.matched = t.owner.counts, t.owner.matched
	w.work = Work{}
	for !t.ended.Load() {
		if released != nil && t.crew.release() {
			*released = true
			break
		}
		i := t.next.Add(1) - 1
		if i >= t.n {
			break
		}
		t.copyHits(w)
		from, to, err := t.task(w, int(i))
		if err != nil {
			t.fail(err)
			break
		}
		t.addHits(w, from, to)
		for released == nil && t.hire() {
		}
	}
	if w.built {
		if err := w.tree.finish(&w.work); err != nil {
			t.fail(err)
		}
		w.work.Add(w.matcher.work)
		w.root, w.built = nil, false
	}
	t.mu.Lock()
	t.work.Add(w.work)
	t.workers--
	t.mu.Unlock()
	w.Forget()
	workers.Put(w) // not after a panic
}

func (t *team) copyHits(w *worker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w.queue.CopyFrom(&t.owner.sc.queue)
	w.queue.SetUnordered(true)
}

func (t *team) addHits(w *worker, from, to base.DocID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owner.sc.queue.AddRange(&w.queue, from, to)
}

// inRanges runs ranges of a segment's documents, the first ones with own, which leaves its hits in the queue. When
// these took so long that helpers pay for the rest, and one is idle, it shares the others with them.
func (r *stageRun) inRanges(numDocs int, w *Work, own func(from, to base.DocID) error, task func(w *worker, from, to base.DocID) error) error {
	const firstRange, growth = 64, 4 // shares of the segment: 1/64, then up to 1/16, 1/4, 1
	c := r.crew
	began := time.Now()
	from, to := 0, alignRange(numDocs/firstRange, c.least, numDocs)
	for {
		if err := own(base.DocID(from), base.DocID(to)); err != nil || to == numDocs {
			return err
		}
		rest := numDocs - to
		predicted := time.Duration(float64(time.Since(began)) / float64(to) * float64(rest))
		switch {
		case predicted < c.worth/growth, rest <= c.least: // at the end, no task is left for a helper
			from, to = to, numDocs
			continue
		case predicted < c.worth || !r.mayShare():
			from, to = to, alignRange(growth*to, c.least, numDocs)
			continue
		}
		n := max(int(predicted/max(c.perRange, 1)), 2*int(c.perQuery))
		size := alignRange(rest/n, c.least, rest)
		n = (rest + size - 1) / size
		first := to
		return r.share(n, w, func(w *worker, i int) (from, to base.DocID, err error) {
			view := r.view(r.segment)
			lo, hi := base.DocID(first+i*size), base.DocID(min(first+(i+1)*size, numDocs))
			return view.Base + lo, view.Base + hi, task(w, lo, hi)
		})
	}
}

// alignRange rounds up to a multiple of unit, at most most.
func alignRange(n, unit, most int) int {
	return min(max((n+unit-1)/unit, 1)*unit, most)
}
