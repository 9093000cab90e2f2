package dispatch

import "github.com/griffin-search/griffin/internal/sched"

// queryPolicy runs whole queries where trained model trees predict the least time, in three
// groups, with stealing (Ding et al., WWW 2009, §9). Package sched forms the groups.
type queryPolicy struct{}

func (queryPolicy) info() PolicyInfo {
	return PolicyInfo{PolicyQuery, "whole queries, placed by trained model trees; idle processors steal work (Ding et al., WWW 2009)"}
}
func (queryPolicy) traits() traits { return traits{stays: true, predicts: true, trees: true} }

func (queryPolicy) choose(r *queryRun) {
	if r.gpu.refusal != "" {
		r.chooseCPU()
		return
	}
	for at := range sched.Place(sched.NumPlaces) {
		r.predictor.wholeOn(&r.choices[at], at)
	}
	r.predictor.predictBatchShare(r.choices[sched.GPU].took)
}
