package dispatch

import (
	"errors"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sched"
)

// The policies are package sched's, in its order, and each is found by its name.
func TestPolicies(t *testing.T) {
	var names []Policy
	for _, info := range Policies() {
		names = append(names, info.Name)
		p, err := findPolicy(info.Name)
		if err != nil || p.info() != info || info.Doc == "" {
			t.Errorf("policy %s: %+v, %v", info.Name, p, err)
		}
	}
	if !slices.Equal(names, sched.Policies()) {
		t.Errorf("policies %v, want %v", names, sched.Policies())
	}
	if p, err := findPolicy(""); err != nil || p != (costPolicy{}) {
		t.Errorf("the default is %+v, %v", p, err)
	}
	if _, err := findPolicy("none"); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("an unknown name: %v", err)
	}
	if !Predicts(PolicyCost) || !Predicts(PolicyQuery) || Predicts(PolicyGPU) || Predicts("none") {
		t.Error("the wrong policies predict")
	}
}
