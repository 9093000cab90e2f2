package main

import (
	"encoding/json"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/dispatch"
)

// gpuStatsOf returns the counts of a Runtime as the type of package dispatch, for commands that
// also measure below the package griffin. Both types have the same JSON form.
func gpuStatsOf(r *griffin.Runtime) dispatch.GPUStats {
	s, _ := r.GPUStats()
	return viaJSON[dispatch.GPUStats](s)
}

// dispatchStatsOf is gpuStatsOf for the counts of the Dispatcher.
func dispatchStatsOf(r *griffin.Runtime) dispatch.Stats {
	return viaJSON[dispatch.Stats](r.DispatchStats())
}

// viaJSON converts between types with the same JSON form. It panics if they differ.
func viaJSON[T any](from any) (to T) {
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, &to)
	}
	if err != nil {
		panic(err)
	}
	return to
}
