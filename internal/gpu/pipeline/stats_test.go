package pipeline

import (
	"reflect"
	"slices"
	"testing"
)

// fill sets the numbers in a nested struct to n, 2n, 3n and so on, and returns their names in
// order.
func fill(v reflect.Value, n int64, prefix string) (names []string) {
	var walk func(v reflect.Value, prefix string)
	walk = func(v reflect.Value, prefix string) {
		for i := range v.NumField() {
			f, name := v.Field(i), prefix+v.Type().Field(i).Name
			switch {
			case f.Kind() == reflect.Struct:
				walk(f, name+".")
			case f.CanInt():
				names = append(names, name)
				f.SetInt(n * int64(len(names)))
			}
		}
	}
	walk(v, prefix)
	return names
}

func numbers(v reflect.Value) (all []int64) {
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Kind() == reflect.Struct:
			all = append(all, numbers(f)...)
		case f.CanInt():
			all = append(all, f.Int())
		}
	}
	return all
}

// Since subtracts counts and keeps current values.
func TestStatsSince(t *testing.T) {
	var before, after DeviceStats
	names := fill(reflect.ValueOf(&before).Elem(), 1, "")
	fill(reflect.ValueOf(&after).Elem(), 10, "")
	current := []string{
		"CacheStats.Lists", "CacheStats.Compressed", "CacheStats.Directories", "CacheStats.Filters", "CacheStats.Columns", "CacheStats.SizeBytes", "UsedBytes", "LimitBytes",
		"Host.Lists", "Host.SizeBytes", "Host.LimitBytes",
	}
	all := Stats{Devices: []DeviceStats{after, after}}
	got := all.Since(&Stats{Devices: []DeviceStats{before}})
	for i, n := range numbers(reflect.ValueOf(got.Devices[0])) {
		want := int64(9 * (i + 1))
		if slices.Contains(current, names[i]) {
			want = int64(10 * (i + 1))
		}
		if n != want {
			t.Errorf("%s = %d, want %d", names[i], n, want)
		}
	}
	if got.Devices[1] != after || all.Devices[0] != after {
		t.Error("Since changes another value")
	}
}

func TestTraceMerge(t *testing.T) {
	var a, b DeviceTrace
	names := fill(reflect.ValueOf(&a).Elem(), 1, "")
	fill(reflect.ValueOf(&b).Elem(), 10, "")
	a.Kernels = []KernelTrace{{"x", 1}, {"y", 2}}
	b.Device, b.Kernels = "gpu0", []KernelTrace{{"y", 30}, {"z", 40}}
	a.merge(&b)
	for i, n := range numbers(reflect.ValueOf(a)) {
		if n != int64(11*(i+1)) {
			t.Errorf("%s = %d, want %d", names[i], n, 11*(i+1))
		}
	}
	if want := []KernelTrace{{"x", 1}, {"y", 32}, {"z", 40}}; a.Device != "gpu0" || !slices.Equal(a.Kernels, want) {
		t.Errorf("device %q, kernels %v, want %v", a.Device, a.Kernels, want)
	}
	a.merge(new(DeviceTrace))
	if a.Device != "gpu0" {
		t.Errorf("device %q", a.Device)
	}
}

// Kernels are in the order of the first launch.
func TestCountKernels(t *testing.T) {
	var l lane
	for _, kernel := range []string{"x", "y", "x", "z", "y", "x"} {
		l.count(kernel)
	}
	if want := []KernelTrace{{"x", 3}, {"y", 2}, {"z", 1}}; !slices.Equal(l.counts.kernels, want) {
		t.Errorf("kernels %v, want %v", l.counts.kernels, want)
	}
}

func TestCost(t *testing.T) {
	c := newCollection(t, 1000, 2, "")
	for _, conjunctive := range []bool{false, true} {
		q := c.query(t, conjunctive, 9, 0)
		var sums [2]int
		for i := range q.Legs {
			sums[i%2] += int(q.Legs[i].DocFreq())
		}
		n := sums[0] + sums[1]
		if conjunctive {
			n = min(sums[0], sums[1])
		}
		want := 0
		for ; n >= 2; n /= 4 {
			want++
		}
		if got := cost(q); got != want {
			t.Errorf("conjunctive %t, %v postings: cost %d, want %d", conjunctive, sums, got, want)
		}
	}
	want := cost(c.query(t, true, 0, 3))
	for excluded := range 3 { // the terms that remain are in any place
		words := slices.Insert([]int{0, 3}, excluded, 9)
		q := c.query(t, true, words...)
		q.Parts = make([]Part, 3)
		q.Parts[excluded] = Excluded
		if got := cost(q); got != want || want == 0 {
			t.Errorf("term %d is excluded: cost %d, want %d", excluded, got, want)
		}
	}
}
