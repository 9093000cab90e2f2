package living

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/turns"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
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

// Writes, their inversion and merges wait for searches, and are done although one never ends.
func TestGate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate := turns.NewGate()
		mem := vfstest.NewMem()
		ix := create(t, mem, "ix")
		s := open(t, mem, ix, Options{RefreshInterval: -1, Gate: gate})
		m := &model{states: map[string]state{}}
		number := 0
		write := func() {
			op := Op{Doc: &corpus.Document{ID: fmt.Sprint(number), Text: strings.Repeat("griffin ", 20)}}
			number++
			r, err := s.Apply(t.Context(), []Op{op})
			check(t, err)
			m.apply(op, r[0].Version.Seq)
		}
		steps := []struct {
			name string
			do   func()
		}{
			{"write", write},
			{"refresh", func() { check(t, s.Refresh(t.Context())) }},
			{"merge", func() { check(t, s.Merge(t.Context(), 1)) }},
		}
		write()
		check(t, s.Refresh(t.Context()))
		for _, step := range steps {
			time.Sleep(time.Second)
			gate.Enter()
			began := time.Now()
			step.do()
			if took := time.Since(began); took < 10*time.Millisecond || took > time.Second {
				t.Errorf("%s beside a search: %v", step.name, took)
			}
			gate.Leave()
		}
		gate.Enter()
		began := time.Now()
		for range 100 {
			gate.Enter()
			for _, step := range steps {
				step.do()
			}
			gate.Leave()
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("beside a search that never ends: %v", took)
		}
		m.same(t, ix)
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
	})
}

// A write that waits for searches ends with its context, and has no effect.
func TestGateEndsWithContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate := turns.NewGate()
		mem := vfstest.NewMem()
		ix := create(t, mem, "ix")
		s := open(t, mem, ix, Options{Gate: gate})
		gate.Enter()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := s.Apply(ctx, []Op{{Doc: &corpus.Document{ID: "1"}}})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Millisecond {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		gate.Leave()
		if _, _, pending, err := s.Get("1"); pending || err != nil {
			t.Errorf("pending: %t, %v", pending, err)
		}
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
	})
}
