package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/griffin-search/griffin"
)

// Every field of the public counters reaches the JSON of commands, under the same key.
func TestStatsKeepJSON(t *testing.T) {
	var gpu griffin.GPUStats
	fill(reflect.ValueOf(&gpu).Elem(), new(int))
	sameJSON(t, gpu, gpuStatsOf(&gpu))
	sameJSON(t, griffin.GPUStats{}, gpuStatsOf(&griffin.GPUStats{}))

	var d griffin.DispatchStats
	fill(reflect.ValueOf(&d).Elem(), new(int))
	d.Errors[0].Kind, d.Errors[1].Kind = "cpu-or", "cpu-or"
	sameJSON(t, d, dispatchStatsOf(&d))
	sameJSON(t, griffin.DispatchStats{}, dispatchStatsOf(&griffin.DispatchStats{}))
}

// fill sets every field to a distinct value. Slices get two elements.
func fill(v reflect.Value, n *int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		*n++
		v.SetString(fmt.Sprint("text ", *n))
	default:
		*n++
		v.Set(reflect.ValueOf(*n).Convert(v.Type()))
	}
}

func sameJSON(t *testing.T, want, got any) {
	t.Helper()
	a, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("%T has the JSON form\n%s\nwant that of %T\n%s", got, b, want, a)
	}
}
