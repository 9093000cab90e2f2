package plan

// SegmentLists describes the lists of a flat stage in a segment, in query order, for the trace of an
// engine; other stages, and ModeSaat, have none.
func SegmentLists(p *Plan, stage, segment int) []ListTrace {
	st := &p.stages[stage]
	if !st.flat || p.mode == ModeSaat {
		return nil
	}
	lists := make([]ListTrace, len(st.leaves))
	legs := st.Legs(segment)
	for i, n := range st.leaves {
		l := n.(*leaf)
		list := legs[i].List
		lists[i] = ListTrace{
			Field: p.planner.fields[l.field], Term: string(p.words.terms[l.terms[0]].bytes), DocFreq: list.DocFreq, Blocks: list.NumBlocks(),
		}
	}
	return lists
}
