package main

import (
	"encoding/json"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/dispatch"
)

// gpuStatsOf is for commands that also measure below the package griffin. Both types have the
// same JSON form.
func gpuStatsOf(r *griffin.Runtime) dispatch.GPUStats {
	s, _ := r.GPUStats()
	return viaJSON[dispatch.GPUStats](s)
}

func dispatchStatsOf(r *griffin.Runtime) dispatch.Stats {
	return viaJSON[dispatch.Stats](r.DispatchStats())
}

// viaJSON panics if the JSON forms of the types differ.
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
