package residency

import (
	"errors"
	"reflect"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

func TestParseSelection(t *testing.T) {
	for text, want := range map[string]Selection{
		"": {}, "cpu": {}, "gpu": {All: true}, "auto": {Auto: true}, "0": {Ordinals: []int{0}}, "1,0": {Ordinals: []int{1, 0}},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := ParseSelection(text)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("ParseSelection(%q) = %+v, %v; want %+v", text, got, err, want)
			}
		})
	}
	for _, text := range []string{"gpu0", "0,0", "-1", "0,", "0;1", "cuda", "99999999"} {
		if got, err := ParseSelection(text); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("ParseSelection(%q) = %+v, %v; want ErrBadInput", text, got, err)
		}
	}
}

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]Memory{
		"": {}, "10%": {Percent: 10}, "0.5 %": {Percent: 0.5}, "4096": {Bytes: 4096}, "4096B": {Bytes: 4096},
		"512MiB": {Bytes: 512 << 20}, "40G": {Bytes: 40 << 30}, "1.5 gb": {Bytes: 3 << 29}, "2TiB": {Bytes: 2 << 40}, "8ki": {Bytes: 8 << 10},
	} {
		t.Run(text, func(t *testing.T) {
			if got, err := ParseMemory(text); err != nil || got != want {
				t.Errorf("ParseMemory(%q) = %+v, %v; want %+v", text, got, err, want)
			}
		})
	}
	for _, text := range []string{"%", "-1", "0", "0%", "1P", "much", "1bG", "1GG", "10%%", "NaN", "1e40", "inf", "0.1"} {
		if got, err := ParseMemory(text); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("ParseMemory(%q) = %+v, %v; want ErrBadInput", text, got, err)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	const free, index = 1000, 400
	for _, c := range []struct {
		memory Memory
		want   int64
	}{
		{Memory{}, 900}, {Memory{Bytes: 300}, 300}, {Memory{Bytes: 5000}, 900}, {Memory{Percent: 10}, 40}, {Memory{Percent: 500}, 900},
	} {
		if got := c.memory.limit(free, index); got != c.want {
			t.Errorf("%+v of %d free, an index of %d: limit %d, want %d", c.memory, free, index, got, c.want)
		}
	}
}
