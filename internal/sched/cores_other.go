//go:build !linux

package sched

// cores is nothing here: threads are not bound to processors.
type cores struct{}

func newCores(int) *cores { return nil }

func (*cores) pin() int { return -1 }

func (*cores) unpin(int) {}
