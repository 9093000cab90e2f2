package imagesearch

import (
	"errors"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

type batchMemory struct {
	// Page-locked; kernels access it over the bus.
	queries cuda.HostBuffer[queryParams]
	terms   cuda.HostBuffer[termParams]
	blocks  cuda.HostBuffer[blockParams]
	results cuda.HostBuffer[result]
	hits    cuda.HostBuffer[uint64]
	// On the device.
	states cuda.Buffer[splitState] // all 0 between launches, unless one failed or sent its hits
	keys   cuda.Buffer[uint64]     // reserve makes it larger

	begun, ended *cuda.Event
}

// spareStates are states 1 and 2 of a Single. Launches that send their hits use them in turn, and each clears the other.
const spareStates = 2

// After an error, free frees the allocated part.
func (m *batchMemory) allocate(k *Kernels, l Limits) (err error) {
	d := k.device
	if m.queries, err = cuda.AllocHost[queryParams](d, 2*l.Queries); err != nil {
		return err
	}
	if m.terms, err = cuda.AllocHost[termParams](d, l.Terms); err != nil {
		return err
	}
	if m.blocks, err = cuda.AllocHost[blockParams](d, numJobs*(l.Queries+k.spareBlocks())); err != nil {
		return err
	}
	if m.results, err = cuda.AllocHost[result](d, l.Queries); err != nil {
		return err
	}
	if m.hits, err = cuda.AllocHost[uint64](d, l.Hits); err != nil {
		return err
	}
	if m.states, err = cuda.Alloc[splitState](d, l.Queries+spareStates); err != nil {
		return err
	}
	if m.keys, err = cuda.Alloc[uint64](d, min(LeastKeys, l.Keys)); err != nil {
		return err
	}
	if m.begun, err = d.NewEvent(true); err != nil {
		return err
	}
	m.ended, err = d.NewSleepingEvent() // a batch takes long enough: the processors have queries to plan
	return err
}

func (m *batchMemory) free() error {
	errs := []error{
		m.queries.Free(), m.terms.Free(), m.blocks.Free(), m.results.Free(), m.hits.Free(),
		m.states.Free(), m.keys.Free(),
	}
	for _, e := range []*cuda.Event{m.begun, m.ended} {
		if e != nil {
			errs = append(errs, e.Close())
		}
	}
	return errors.Join(errs...)
}
