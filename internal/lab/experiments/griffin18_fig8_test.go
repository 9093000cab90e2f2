package experiments

import "testing"

func TestCrossing(t *testing.T) {
	for _, c := range []struct {
		name string
		us   [][]float64
		want int
	}{
		{"at 128", [][]float64{{9, 1}, {8, 1}, {7, 1}, {6, 1}, {1, 2}, {1, 2}, {1, 2}}, 128},
		{"always", [][]float64{{1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}}, 1},
		{"never", [][]float64{{2, 1}, {2, 1}, {2, 1}, {2, 1}, {2, 1}, {2, 1}, {2, 1}}, 0},
		{"a group without pairs", [][]float64{{2, 1}, nil, {2, 1}, {2, 1}, {2, 1}, {1, 2}, nil}, 256},
		{"not once for all", [][]float64{{1, 2}, {2, 1}, {2, 1}, {2, 1}, {2, 1}, {2, 1}, {1, 2}}, 512},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := crossing(c.us, 0, 1); got != c.want {
				t.Errorf("%s: %d, want %d", c.name, got, c.want)
			}
		})
	}
}
