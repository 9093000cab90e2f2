package plan

// FallsBack reports whether the next stage has to answer because this stage found fewer than K
// hits: ModeAndOr falls back from all words to any word. Plan.RunCPU and package dispatch, for
// single queries and batches, have this rule from here only.
func (p *Plan) FallsBack(stage, hits int) bool {
	return hits < p.k && stage+1 < len(p.stages)
}
