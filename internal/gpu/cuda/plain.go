package cuda

import (
	"fmt"
	"reflect"
)

// plain returns why values of type t cannot be shared with a kernel, or "". It
// refuses pointers, and kinds whose size depends on the platform (int, uint) or
// that have no C type of a fixed size (bool).
func plain(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return ""
	case reflect.Array:
		return plain(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if why := plain(t.Field(i).Type); why != "" {
				return fmt.Sprintf("field %s: %s", t.Field(i).Name, why)
			}
		}
		return ""
	}
	return t.String() + " has no fixed layout that a kernel could share"
}

// checkPlain reports a misuse if T is not plain or has size 0.
func checkPlain[T any](call string) error {
	t := reflect.TypeFor[T]()
	if why := plain(t); why != "" {
		return misuse(call, "elements of type %s: %s", t, why)
	}
	if t.Size() == 0 {
		return misuse(call, "elements of type %s have no size", t)
	}
	return nil
}
