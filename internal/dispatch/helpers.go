package dispatch

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
)

// helpers are CPUs that answer queries of a batch beside a GPU: the ones that the GPU cannot
// answer, and some of the rest while it loads lists. The GPU takes queries from one end of an
// order and the CPUs from the other, so both end at about the same time at any speed. An error
// of a CPU ends its item, not the batch. helpers implements pipeline.Others.
type helpers struct {
	ctx     context.Context //nolint:containedctx // of the batch, which ends before its caller goes on
	slots   chan struct{}   // Dispatcher.batchSlots
	items   []batchItem
	owners  []atomic.Uint32 // by item
	numbers []int           // of the items of the present launch, by its queries
	besides bool            // CPUs help while the GPU loads lists
	// optional: CPUs help only while a slot is free, and leave the remaining items to the caller. In
	// a batch of the scheduler, which must not wait while it holds a lane; reset clears it.
	optional bool

	workers invariant.Group
	mu      sync.Mutex // guards what follows
	begun   bool       // in this launch
	by      int        // the device that came first, if begun
	left    []int      // items for the CPUs only, the costliest last
	order   []int      // items; the CPUs take them from the end
	err     error
}

const (
	nobody uint32 = iota
	gpuOwns
	cpuOwns
)

func idleCPUs() int {
	n := runtime.GOMAXPROCS(0)
	return max(n-1-n/8, 1)
}

// idleScratches lends memory without an analyzer, for running only.
var idleScratches = sync.Pool{New: func() any { return new(plan.Scratch) }}

func (h *helpers) reset(ctx context.Context, slots chan struct{}, items []batchItem, besides bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ctx, h.slots, h.items, h.besides, h.optional, h.begun, h.err = ctx, slots, items, besides, false, false, nil
	h.left, h.order = h.left[:0], h.order[:0]
	if len(h.owners) < len(items) {
		h.owners = make([]atomic.Uint32, len(items))
	}
	for i := range items {
		h.owners[i].Store(nobody)
	}
}

func (h *helpers) launch(items []int) {
	h.mu.Lock()
	h.begun, h.order = false, h.order[:0]
	h.mu.Unlock()
	h.numbers = items
	for _, i := range items {
		h.owners[i].Store(nobody)
	}
}

func (h *helpers) Begin(device int, order, left []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.besides || h.begun && h.by != device {
		return // another device came first
	}
	h.begun, h.by = true, device
	h.order = slices.Insert(h.order, 0, order...) // CPUs take the former ones first
	for i, q := range order {
		h.order[i] = h.numbers[q]
	}
	for _, q := range left { // no launch can answer them, however late the CPUs are
		i := h.numbers[q]
		if h.optional { // until settle
			h.order = append(h.order, i)
			continue
		}
		h.owners[i].Store(cpuOwns)
		h.left = append(h.left, i)
	}
	h.start(len(order) + len(left))
}

// Take gives the GPU a query.
func (h *helpers) Take(query int) bool {
	owner := &h.owners[h.numbers[query]]
	return owner.CompareAndSwap(nobody, gpuOwns) || owner.Load() == gpuOwns
}

// add gives an item to the CPUs only, which begin with start.
func (h *helpers) add(item int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left = append(h.left, item)
}

func (h *helpers) start(n int) {
	for range min(n, cap(h.slots)) {
		h.workers.Go(h.work)
	}
}

// finish has the CPUs and this goroutine answer the added items, and waits.
func (h *helpers) finish() error {
	h.mu.Lock()
	n := len(h.left)
	h.mu.Unlock()
	if n > 0 {
		h.start(n - 1)
		h.work()
	}
	return h.wait()
}

// settle ends the offer of an item and reports whether a CPU has taken it.
func (h *helpers) settle(item int) (onCPU bool) {
	h.owners[item].CompareAndSwap(nobody, gpuOwns)
	return h.answered(item)
}

func (h *helpers) answered(item int) bool { return h.owners[item].Load() == cpuOwns }

// take returns -1 if no item is left.
func (h *helpers) take() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return -1
	}
	if n := len(h.left); n > 0 {
		item := h.left[n-1]
		h.left = h.left[:n-1]
		return item
	}
	for n := len(h.order); n > 0; n = len(h.order) {
		item := h.order[n-1]
		h.order = h.order[:n-1]
		if h.owners[item].CompareAndSwap(nobody, cpuOwns) {
			return item
		}
	}
	return -1
}

func (h *helpers) work() {
	sc := idleScratches.Get().(*plan.Scratch)
	for h.turn(sc) {
	}
	idleScratches.Put(sc) // not deferred: after a panic it must not serve another query
}

// longTurn ends a turn, so that other batches get the slot.
const longTurn = time.Millisecond

// turn waits for a CPU, unless the help is optional, and answers up to maxTurn items: with a slot for each item, batches that
// share few slots would mostly wait. more: there may be others.
func (h *helpers) turn(sc *plan.Scratch) (more bool) {
	if !h.acquire() {
		return false
	}
	defer func() { <-h.slots }()
	began := time.Now()
	for range maxTurn {
		if !h.answerNext(sc) {
			return false
		}
		if time.Since(began) > longTurn {
			break
		}
	}
	return true
}

// answerNext answers the next item; more: there may be another.
func (h *helpers) answerNext(sc *plan.Scratch) (more bool) {
	i := h.take()
	if i < 0 {
		return false
	}
	if err := h.items[i].onCPU(h.ctx, sc); err != nil {
		h.items[i].err = err
		*sc = plan.Scratch{} // its state is unknown after a fault
	}
	return true
}

func (h *helpers) acquire() bool {
	if h.optional {
		select {
		case h.slots <- struct{}{}:
			return true
		default:
			return false
		}
	}
	err := acquire(h.ctx, h.slots)
	if err != nil {
		h.fail(err)
	}
	return err == nil
}

var errAbandoned = errors.New("the batch is given up")

// abandon ends the help for a batch whose answers nobody waits for any more.
func (h *helpers) abandon() {
	h.fail(errAbandoned)
	_ = h.wait()
}

func (h *helpers) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err = err
	}
}

func (h *helpers) wait() error {
	h.workers.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left, h.order, h.items = h.left[:0], h.order[:0], nil
	return h.err
}
