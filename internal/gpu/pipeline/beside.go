package pipeline

// beside is Query.Beside of a lane's run, until it returns false.
type beside struct {
	ask  func() bool // nil: there is nothing to do
	once func() bool // step, which is made once
}

// steps returns what to do while the device works, or nil.
func (b *beside) steps() func() bool {
	if b.ask == nil {
		return nil
	}
	if b.once == nil {
		b.once = b.step
	}
	return b.once
}

func (b *beside) step() (more bool) {
	if more = b.ask(); !more {
		b.ask = nil
	}
	return more
}
