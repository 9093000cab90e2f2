package sched

import "testing"

func TestEveryPolicyHasRules(t *testing.T) {
	for _, p := range Policies() {
		if _, ok := rules[p]; !ok {
			t.Errorf("policy %s has no rules for queues", p)
		}
	}
	if len(rules) != len(Policies()) {
		t.Errorf("%d rules for %d policies", len(rules), len(Policies()))
	}
}
