package residency

// entryHeap is a binary heap of entries, least density first. Invariant: h[i].at == i.
type entryHeap []*Entry

func (h *entryHeap) push(e *Entry) {
	e.at = len(*h)
	*h = append(*h, e)
	h.up(e.at)
}

func (h *entryHeap) pop() *Entry {
	e := (*h)[0]
	h.remove(0)
	return e
}

func (h *entryHeap) remove(i int) {
	s := *h
	last := len(s) - 1
	s[i].at = -1
	if i != last {
		s[i] = s[last]
		s[i].at = i
	}
	s[last] = nil
	*h = s[:last]
	if i != last {
		h.fix(i)
	}
}

func (h *entryHeap) fix(i int) {
	h.up(i)
	h.down(i)
}

func (h *entryHeap) init() {
	for i := len(*h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h entryHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].density <= h[i].density {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h entryHeap) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].density < h[least].density {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}

func (h entryHeap) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}
