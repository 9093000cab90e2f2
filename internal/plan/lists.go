package plan

// SegmentLists describes the lists of a flat stage in a segment, in query order, for the trace of an
// engine; other stages, and ModeSaat, have none.
func SegmentLists(p *Plan, stage, segment int) []ListTrace {
	st := &p.stages[stage]
	if !st.flat || p.mode == ModeSaat {
		return nil
	}
	lists := make([]ListTrace, 0, len(st.leaves))
	seen := map[int]bool{} // a term and a similar one can be the same list
	legs := st.Legs(segment)
	for i, n := range st.leaves {
		l := n.(*leaf)
		if seen[l.terms[0]] {
			continue
		}
		seen[l.terms[0]] = true
		list := legs[i].List
		lists = append(lists, ListTrace{
			Field: p.planner.fields[l.field], Term: string(p.words.terms[l.terms[0]].bytes), DocFreq: list.DocFreq, Blocks: list.NumBlocks(),
		})
	}
	return lists
}
