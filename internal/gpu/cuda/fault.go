package cuda

import "sync"

// Faults makes driver calls of a device fail on demand, without calling the
// driver, so that a test can take every error path on any machine. Safe for
// concurrent use.
type Faults struct {
	mutex  sync.Mutex
	counts [numFunctions]int
	orders []order
}

type order struct {
	f     function
	every bool
	nth   int
	code  Code
}

// InjectFaults places faults between the device and its driver until it is
// called with nil.
func (d *Device) InjectFaults(faults *Faults) { d.faults.Store(faults) }

// InjectedFaults returns what InjectFaults set, or nil.
func (d *Device) InjectedFaults() *Faults { return d.faults.Load() }

// Fail makes the nth call of a driver function from now on fail with code; nth
// counts from 1, 0 means every call. call is a name in Functions, or "" for any
// function; Fail panics on others. A sticky code marks the device failed.
func (f *Faults) Fail(call string, nth int, code Code) {
	o := order{f: numFunctions, every: nth == 0, code: code}
	if call != "" {
		for o.f = 0; o.f < numFunctions && functionNames[o.f] != call; o.f++ {
		}
		if o.f == numFunctions {
			panic("cuda: no driver function " + call + "")
		}
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	o.nth = f.count(o.f) + nth
	f.orders = append(f.orders, o)
}

// count returns the number of calls of a function; for numFunctions, the number
// of all calls.
func (f *Faults) count(fn function) int {
	if fn < numFunctions {
		return f.counts[fn]
	}
	sum := 0
	for _, c := range f.counts {
		sum += c
	}
	return sum
}

// Calls returns how often each driver function was called, failed calls
// included.
func (f *Faults) Calls() map[string]int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	calls := map[string]int{}
	for fn, n := range f.counts {
		if n > 0 {
			calls[functionNames[fn]] = n
		}
	}
	return calls
}

// take counts a call and returns the code with which it must fail, or Success.
func (f *Faults) take(fn function) Code {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.counts[fn]++
	for _, o := range f.orders {
		if (o.f == fn || o.f == numFunctions) && (o.every || o.nth == f.count(o.f)) {
			return o.code
		}
	}
	return Success
}
