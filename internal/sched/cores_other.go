//go:build !linux

package sched

// cores is empty: threads are not bound to cores on this system.
type cores struct{}

func newCores(int) *cores { return nil }

func (*cores) pin() int { return -1 }

func (*cores) unpin(int) {}
