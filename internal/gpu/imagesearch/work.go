package imagesearch

// Launches visits the kernels of the last Launch, in order.
func (b *Batch) Launches(visit func(kernel string)) {
	for kind, jobs := range b.jobs {
		if len(jobs) > 0 {
			visit(b.kernels.kernel(kind).Name())
		}
	}
}

// Launches visits the kernels of the last Search, in order.
func (s *Single) Launches(visit func(kernel string)) {
	b := s.batch
	for kind, jobs := range b.jobs {
		if len(jobs) == 0 {
			continue
		}
		kernel := b.kernels.kernelOne(kind, &b.memory.queries.Data()[jobs[0].query])
		if kernel == nil {
			kernel = b.kernels.kernel(kind)
		}
		visit(kernel.Name())
	}
}

// Launches visits the kernels of the last Run, once for each launch.
func (p *Pass) Launches(visit func(kernel string)) {
	for range p.stats.Bands {
		visit(p.kernels.passes.fill.Name())
		visit(p.kernels.passes.search.Name())
	}
}

// Bytes returns the bytes that the device reads from host memory and writes to it.
func (b *Batch) Bytes() (to, from int64) {
	to = int64(b.numParams)*queryBytes + int64(b.numTerms)*termBytes
	for i := range b.memory.results.Data()[:b.numQueries] {
		from += resultBytes + int64(b.memory.results.Data()[i].numHits)*hitBytes
	}
	return to, from
}

// Bytes is Batch.Bytes for the last Search.
func (s *Single) Bytes() (to, from int64) { return s.batch.Bytes() }

// Sizes on the bus.
const (
	queryBytes  = 64
	termBytes   = 128
	resultBytes = 32
	hitBytes    = 8
)
