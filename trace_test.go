package griffin

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/plan"
)

// The public types have the JSON form of the internal ones, with every field.
func TestPublicTypesKeepJSON(t *testing.T) {
	var trace plan.Trace
	fill(reflect.ValueOf(&trace).Elem(), new(int))
	trace.Began = time.Time{} // has no JSON form
	sameJSON(t, &trace, newTrace(&trace))
	sameJSON(t, &trace, newTrace(&trace).internal())
	if got, want := newTrace(&trace).String(), trace.String(); got != want || got == "" {
		t.Errorf("the trace reads\n%s\nwant\n%s", got, want)
	}
	if got, want := newTrace(&trace).Total(), Work(trace.Total()); got != want || got.PostingsDecoded == 0 {
		t.Errorf("total work %+v, want %+v", got, want)
	}
	sameJSON(t, &plan.Trace{}, newTrace(&plan.Trace{}))
	if newTrace(nil) != nil {
		t.Error("no trace became one")
	}

	var gpu dispatch.GPUStats
	fill(reflect.ValueOf(&gpu).Elem(), new(int))
	sameJSON(t, &gpu, newGPUStats(&gpu))
	sameJSON(t, &dispatch.GPUStats{}, newGPUStats(&dispatch.GPUStats{}))

	var d dispatch.Stats
	fill(reflect.ValueOf(&d).Elem(), new(int))
	sameJSON(t, &d, newDispatchStats(&d))
	sameJSON(t, &dispatch.Stats{}, newDispatchStats(&dispatch.Stats{}))
}

// fill sets every exported field to a non-zero value, distinct except for small enumerations.
// Slices get two elements.
func fill(v reflect.Value, n *int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n)
			}
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
	case reflect.Uint8: // an enumeration
		v.SetUint(1)
	default:
		*n++
		number := reflect.ValueOf(*n)
		if v.Kind() == reflect.String {
			v.SetString(fmt.Sprint("text ", *n))
			return
		}
		v.Set(number.Convert(v.Type()))
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
