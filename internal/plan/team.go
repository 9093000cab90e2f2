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

// team runs tasks of a query on several processors: ranges of documents, or segments. Each worker takes some tasks
// after others, in order. It begins with the best hits of the ended tasks, so that their threshold prunes, and
// adds its own afterwards. Hits of other tasks can be before or after a task's documents, so a document is pruned
// only if its score is below the threshold; ties are decided in the queue. The answer is the same with any
// number of workers.
type team struct {
	crew  *Crew
	owner *stageRun
	n     int  // tasks
	each  bool // tasks are taken one by one, not several as one
	first int  // tasks that the owner did alone before
	task  task
	ended atomic.Bool // no further task begins

	workers atomic.Int32 // at present, with the owner; changed with the crew's lock
	most    atomic.Int32
	left    atomic.Int64 // tasks that have not begun
	rest    atomic.Int64 // their predicted time on one processor
	joined  sync.WaitGroup
	caught  atomic.Pointer[invariant.Caught]

	stopping sync.Mutex // guards the owner's stop

	mu      sync.Mutex // guards the owner's queue, and what follows
	err     error
	work    Work
	next    int     // first task that has not begun
	perTask float64 // predicted time in ns
}

// task runs the tasks [i, j) and returns the range of documents whose hits are in the worker's queue.
type task func(w *worker, i, j int) (from, to base.DocID, err error)

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

// newTeam returns a team for n tasks that are predicted to take a time in all.
func newTeam(c *Crew, n int, predicted time.Duration) *team {
	t := &team{crew: c, n: n, perTask: float64(predicted) / float64(n)}
	t.workers.Store(1)
	t.most.Store(1)
	t.left.Store(int64(n))
	t.rest.Store(int64(predicted))
	return t
}

// share runs tasks with helpers while processors are idle, and adds their work to w.
func (r *stageRun) share(t *team, w *Work, f task) error {
	t.owner, t.task = r, f
	t.crew.enroll(t)
	defer func() {
		if t.owner != nil { // a panic
			t.ended.Store(true)
			t.wait()
		}
	}()
	t.run(true /* owner */)
	t.wait()
	w.Add(t.work)
	if most := int(t.most.Load()); most > 1 {
		r.workers = max(r.workers, most)
		r.mostWorkers = max(r.mostWorkers, most)
		t.crew.shared.Add(1)
	}
	return t.err
}

// wait lets the helpers end the tasks that have begun.
func (t *team) wait() {
	t.crew.dismiss(t)
	for began := time.Now(); t.workers.Load() > 1 && time.Since(began) < t.crew.times.warm; { // a wake-up would take longer
	}
	t.joined.Wait()
	t.owner = nil
	if c := t.caught.Load(); c != nil {
		panic(c)
	}
}

// join adds a helper. The crew's lock is held.
func (t *team) join() {
	t.joined.Add(1)
	n := t.workers.Add(1)
	t.most.Store(max(t.most.Load(), n))
	t.crew.helpers.Add(1)
}

// help runs tasks as a helper and returns its next team.
func (t *team) help() (next *team) {
	defer t.joined.Done()
	defer func() {
		if value := recover(); value != nil {
			t.caught.CompareAndSwap(nil, invariant.Catch(value))
			t.ended.Store(true)
		}
		next = t.crew.reassign(t)
	}()
	t.run(false)
	return nil
}

// run takes tasks until none is left or, for a helper, it is needed elsewhere.
func (t *team) run(owner bool) {
	w := workers.Get().(*worker)
	run := w.stage(t.owner.plan, t.owner.st, t)
	run.counts, run.matched = t.owner.counts, t.owner.matched
	w.work = Work{}
	for i, j := t.take(w); i < j; {
		t.crew.staff()
		began := time.Now()
		from, to, err := t.task(w, i, j)
		if err != nil {
			t.fail(err)
			break
		}
		took := time.Since(began)
		if t.add(w, from, to, float64(took)/float64(j-i)); !owner && t.crew.moves(t) {
			break
		}
		i, j = t.take(w)
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
	t.mu.Unlock()
	w.Forget()
	workers.Put(w) // not after a panic
}

// take returns the tasks that the worker runs next, none at the end, and gives it the best hits.
func (t *team) take(w *worker) (i, j int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended.Load() || t.next == t.n {
		return 0, 0
	}
	i, j = t.next, t.next+t.size()
	t.next = j
	t.left.Store(int64(t.n - j))
	t.rest.Store(int64(float64(t.n-j) * t.perTask))
	w.queue.CopyFrom(&t.owner.sc.queue)
	w.queue.SetUnordered(true)
	return i, j
}

// size returns the number of tasks that are taken as one: at most a worker's share of the rest, so that all
// end at about the same time, and at first few, because the threshold rises fast. The lock is held.
func (t *team) size() int {
	left := t.n - t.next
	if t.each {
		return 1
	}
	times, workers := &t.crew.times, int(t.workers.Load())
	perRange := times.alone
	if workers > 1 || t.crew.hasIdle() {
		perRange = times.perRange
	}
	n := t.tasksOf(perRange)
	if workers > 1 {
		n = min(n, left/workers, 2*(t.first+t.next)/workers)
	}
	return min(max(n, t.tasksOf(times.leastRange), 1), left)
}

func (t *team) tasksOf(d time.Duration) int {
	return int(min(float64(d)/max(t.perTask, 1), float64(t.n)))
}

// add adds the hits of tasks, of which each took a time.
func (t *team) add(w *worker, from, to base.DocID, perTask float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owner.sc.queue.AddRange(&w.queue, from, to)
	const outlier = 4 // the system may have stopped the thread meanwhile
	t.perTask += float64((min(perTask, outlier*t.perTask) - t.perTask) / outlier)
}

// inRanges runs ranges of a segment's documents. It runs the first ones with own, which leaves its hits in the
// queue. If the measured time predicts that helpers pay for the remaining ranges, it shares these with them.
func (r *stageRun) inRanges(numDocs int, w *Work, own func(from, to base.DocID) error, task func(w *worker, from, to base.DocID) error) error {
	c := r.crew
	began := time.Now()
	from, to := 0, alignRange(numDocs/firstRange, c.least, numDocs)
	for {
		if err := own(base.DocID(from), base.DocID(to)); err != nil || to == numDocs {
			return err
		}
		took, rest := time.Since(began), numDocs-to
		predicted := time.Duration(float64(took) / float64(to) * float64(rest))
		switch {
		case rest <= c.least, took >= c.times.trial && predicted < c.times.worth/growth: // no task is left for a helper
			from, to = to, numDocs
			continue
		case took < c.times.trial || predicted < c.times.worth:
			from, to = to, alignRange(growth*to, c.least, numDocs)
			continue
		}
		first := to
		t := newTeam(c, (rest+c.least-1)/c.least, predicted)
		t.first = first / c.least
		return r.share(t, w, func(w *worker, i, j int) (from, to base.DocID, err error) {
			view := r.view(r.segment)
			lo, hi := base.DocID(first+i*c.least), base.DocID(min(first+j*c.least, numDocs))
			return view.Base + lo, view.Base + hi, task(w, lo, hi)
		})
	}
}

// The first range is a share of the segment. Alone, each next one ends at a multiple.
const firstRange, growth = 256, 4

// alone runs ranges of a segment's documents one after another.
func alone(numDocs int, own func(from, to base.DocID) error) error {
	for from, to := 0, 0; to < numDocs; from = to {
		to = alignRange(max(numDocs/firstRange, growth*to), traverse.RangeDocs, numDocs)
		if err := own(base.DocID(from), base.DocID(to)); err != nil {
			return err
		}
	}
	return nil
}

// alignRange rounds up to a multiple of unit, at most most.
func alignRange(n, unit, most int) int {
	return min(max((n+unit-1)/unit, 1)*unit, most)
}
