package living

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// leave writes, with updates and deletions, commits some, and ends without a commit of the others. It
// returns the last record that the checkpoint has.
func leave(t *testing.T, disk *vfstest.Disk, rng *rand.Rand, m *model, commit bool) (last uint64) {
	t.Helper()
	ix, err := index.Open(disk, "ix")
	check(t, err)
	s := open(t, disk, ix, Options{RefreshInterval: -1, CheckpointBytes: 1})
	for round := range 8 {
		for range 30 {
			m.applyRandom(t, rng, s, 12)
		}
		check(t, s.Refresh(t.Context()))
		if round == 2 && commit {
			check(t, s.Flush(t.Context()))
		}
		if round == 5 {
			check(t, s.Merge(t.Context(), 2))
		}
	}
	check(t, s.live.Checkpoint(t.Context()))
	last = uint64(s.log.Stats().Last)
	for range 10 { // after the checkpoint
		m.applyRandom(t, rng, s, 12)
	}
	check(t, s.end())
	check(t, ix.Close())
	return last
}

// Documents of a checkpoint are not indexed again, and are unchanged after a restart.
func TestCheckpoint(t *testing.T) {
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, 3))
		disk, m := vfstest.NewDisk(), &model{states: map[string]state{}}
		check(t, create(t, disk, "ix").Close())
		for range 3 {
			last := leave(t, disk, rng, m, true /* commit */)
			ix, err := index.Open(disk, "ix")
			check(t, err)
			s := open(t, disk, ix, Options{RefreshInterval: -1})
			if s.adopted != last || s.flushed >= last {
				t.Errorf("adopted up to %d, want %d; committed %d", s.adopted, last, s.flushed)
			}
			m.same(t, ix)
			check(t, s.Close(t.Context()))
			m.forget(ix.Seq())
			check(t, ix.Close())
			for _, name := range disk.Names() {
				if strings.Contains(name, "CHECKPOINT") {
					t.Errorf("%s is left after a commit", name)
				}
			}
		}
	}
}

// A checkpoint with any damage is ignored: the log has all documents.
func TestDamagedCheckpoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	disk, m := vfstest.NewDisk(), &model{states: map[string]state{}}
	check(t, create(t, disk, "ix").Close())
	ix, err := index.Open(disk, "ix")
	check(t, err)
	check(t, ix.Close())
	leave(t, disk, rng, m, false /* commit */)
	damaged := 0
	for _, name := range disk.Names() {
		data := disk.Get(name)
		if len(data) == 0 || strings.Contains(name, "/log/") || strings.Contains(name, "MANIFEST") {
			continue
		}
		copied := disk.AfterKill()
		switch what := rng.IntN(3); what {
		case 0:
			bad := append([]byte(nil), data...)
			bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
			copied.Set(name, bad)
		case 1:
			copied.Set(name, data[:rng.IntN(len(data))])
		default:
			check(t, copied.Remove(name))
		}
		ix, err := index.Open(copied, "ix")
		check(t, err)
		s := open(t, copied, ix, Options{RefreshInterval: -1})
		damaged++
		t.Run(name, func(t *testing.T) { m.same(t, ix) })
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
	}
	if damaged < 20 {
		t.Errorf("%d damaged files", damaged)
	}
}
