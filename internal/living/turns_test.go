package living

import (
	"testing"
	"testing/synctest"

	"github.com/griffin-search/griffin/internal/turns"
)

// Merges leave half of the processors, at least one, to others, unless they are behind or somebody waits for them.
func TestMergeTurns(t *testing.T) {
	never, always := func() bool { return false }, func() bool { return true }
	for _, c := range []struct{ processors, share int }{{1, 1}, {2, 1}, {3, 1}, {8, 4}} {
		synctest.Test(t, func(t *testing.T) {
			m := mergeTurns{Turns: turns.New(c.processors), processors: c.processors}
			computing := func() (n int) {
				started, end := make(chan struct{}, 20), make(chan struct{})
				for range 20 {
					go func() {
						m.Take()
						started <- struct{}{}
						<-end
						m.Give()
					}()
				}
				synctest.Wait()
				n = len(started)
				close(end)
				synctest.Wait()
				return n
			}
			for _, step := range []struct {
				name string
				do   func()
				want int
			}{
				{"idle", func() { m.isBehind = never; m.update() }, c.share},
				{"behind", func() { m.isBehind = always; m.update() }, c.processors},
				{"caught up", func() { m.isBehind = never; m.update() }, c.share},
				{"wanted", func() { m.want(1) }, c.processors},
				{"wanted twice", func() { m.want(1) }, c.processors},
				{"one left", func() { m.want(-1) }, c.processors},
				{"none left", func() { m.want(-1) }, c.share},
			} {
				step.do()
				if n := computing(); n != step.want {
					t.Errorf("%d processors, %s: %d compute, want %d", c.processors, step.name, n, step.want)
				}
			}
		})
	}
}
