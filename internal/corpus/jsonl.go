package corpus

type jsonParser struct {
	builder
	scanner jsonScanner
	vectors jsonScanner // of Options.Weights
}

func (p *jsonParser) parse(line []byte, at Location) (*Document, *RecordError) {
	d, rec := p.document(line, at)
	if rec != nil {
		rec.Location = at
	}
	return d, rec
}

func (p *jsonParser) document(line []byte, at Location) (*Document, *RecordError) {
	if p.opts.Weights {
		p.scanner.raw = vectorField
	}
	if m := p.opts.Mapped; m != nil {
		p.scanner.whole = m.Whole
	}
	fields, rec := p.scanner.record(line, MaxFields)
	if rec == nil {
		fields, rec = p.opts.Mapped.apply(fields)
	}
	if rec != nil {
		return nil, rec
	}
	r, rec := p.choose(fields, false /* fold */)
	if rec != nil {
		return nil, rec
	}
	d, rec := p.build(fields, &r, at)
	if rec != nil {
		return nil, rec
	}
	if p.opts.Weights {
		if d.Vector, rec = p.vector(fields); rec != nil {
			return nil, rec
		}
	}
	return d, nil
}
