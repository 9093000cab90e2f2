package residency

import (
	"errors"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

func TestParseHostMemory(t *testing.T) {
	for text, want := range map[string]HostMemory{
		"": {}, "0": {None: true}, "50%": {Memory: Memory{Percent: 50}}, "2GiB": {Memory: Memory{Bytes: 2 << 30}},
	} {
		t.Run(text, func(t *testing.T) {
			if got, err := ParseHostMemory(text); err != nil || got != want {
				t.Errorf("ParseHostMemory(%q) = %+v, %v; want %+v", text, got, err, want)
			}
		})
	}
	for _, text := range []string{"none", "-1", "00%"} {
		if got, err := ParseHostMemory(text); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("ParseHostMemory(%q) = %+v, %v; want ErrBadInput", text, got, err)
		}
	}
}

func TestHostMemoryLimit(t *testing.T) {
	const available, index = 1000, 400
	for _, c := range []struct {
		memory HostMemory
		want   int64
	}{
		{HostMemory{}, 500},
		{HostMemory{None: true}, 0},
		{HostMemory{Memory: Memory{Bytes: 600}}, 600},
		{HostMemory{Memory: Memory{Bytes: 5000}}, 750},
		{HostMemory{Memory: Memory{Percent: 50}}, 200},
		{HostMemory{Memory: Memory{Percent: 900}}, 750},
		{HostMemory{Share: 5}, 100},
		{HostMemory{Memory: Memory{Bytes: 600}, Share: 5}, 150},
	} {
		if got := c.memory.limit(available, index); got != c.want {
			t.Errorf("%+v: limit %d, want %d", c.memory, got, c.want)
		}
	}
}
