package segment_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/segment/segmenttest"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func expectBadInput(t *testing.T, name string, opts segment.Options, sources ...segment.Source) {
	t.Helper()
	fs := vfstest.NewMem()
	_, err := segment.Write(context.Background(), fs, "seg", opts, sources, nil)
	if !errors.Is(err, base.ErrBadInput) {
		t.Errorf("%s: error is %v, want ErrBadInput", name, err)
	}
	if names := fs.Names(); len(names) != 0 {
		t.Errorf("%s: files are left: %q", name, names)
	}
}

func TestWriteRefusesToReplaceASegment(t *testing.T) {
	docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(8, 8)), 20, 5, 1)
	fs := vfstest.NewMem()
	s := write(t, fs, "seg", options(1), sources(t, fs, docs, 1)...)
	_, err := segment.Write(context.Background(), fs, "seg", options(1), sources(t, fs, docs[:3], 1), nil)
	if !errors.Is(err, base.ErrExists) {
		t.Errorf("error is %v, want ErrExists", err)
	}
	check(t, s, docs, options(1))
}

// Write must report an error at each operation; Open must accept only complete segments.
func TestWriteWithFaults(t *testing.T) {
	docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(9, 9)), 60, 30, 2)
	mem := vfstest.NewMem()
	src := sources(t, mem, docs, 2)
	run := func(plan vfstest.Plan) (*vfstest.Faulty, error) {
		if err := mem.RemoveAll("seg"); err != nil {
			t.Fatal(err)
		}
		fs := vfstest.NewFaulty(mem, plan)
		_, err := segment.Write(context.Background(), fs, "seg", options(2), src, nil)
		return fs, err
	}
	accepted := func() bool {
		s, err := segment.Open(mem, "seg")
		if err != nil {
			return false
		}
		defer s.Close()
		return s.Verify(context.Background(), nil) == nil
	}
	whole, err := run(vfstest.Plan{})
	if err != nil || !accepted() {
		t.Fatal(err)
	}
	ops := whole.Ops()
	if last := whole.Operations()[ops-1]; last != "sync seg" {
		t.Errorf("the last operation is %s, want a sync of the folder", last)
	}
	for _, plan := range []vfstest.Plan{{}, {Once: true}, {ShortWrite: true}, {Once: true, ShortWrite: true}} {
		for n := 2; n <= ops; n++ { // operation 1 looks for an older segment
			plan.FailAt = n
			faulty, err := run(plan)
			if open := faulty.StillOpen(); len(open) > 0 {
				t.Fatalf("plan %+v: %q are still open", plan, open)
			}
			switch {
			case err == nil:
				t.Fatalf("plan %+v of %d operations: no error", plan, ops)
			case !errors.Is(err, vfstest.ErrInjected):
				t.Fatalf("plan %+v: error is %v", plan, err)
			case !strings.Contains(err.Error(), "segment seg"):
				t.Fatalf("plan %+v: error does not name the segment: %v", plan, err)
			}
			if s, err := segment.Open(mem, "seg"); err == nil {
				s.Close()
				if !accepted() || plan.Once && n < ops {
					t.Fatalf("plan %+v of %d operations: Open accepts what was left", plan, ops)
				}
			}
		}
	}
	var size int64
	for _, name := range mem.Names() {
		n, _ := mem.Stat(name)
		size += n
	}
	for full := int64(1); full < size; full += 1 + size/97 {
		_, err := run(vfstest.Plan{DiskBytes: full})
		if err == nil { // size includes the sources
			continue
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("disk of %d bytes: %v", full, err)
		}
		if names, err := mem.ReadDir("seg"); err == nil {
			t.Fatalf("disk of %d bytes: files are left: %q", full, names)
		}
	}
}

func TestWriteIsCancelled(t *testing.T) {
	docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(10, 10)), 500, 300, 1)
	fs := vfstest.NewMem()
	src := sources(t, fs, docs, 3)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := segment.Write(ctx, fs, "seg", options(1), src, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Write: %v, want Canceled", err)
	}
	if _, err := fs.ReadDir("seg"); err == nil {
		t.Error("Write left files")
	}
	s := write(t, fs, "seg", options(1), src...)
	if err := s.Verify(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify: %v, want Canceled", err)
	}
}

// Open or Verify must detect all damage; reads without Verify must be correct or fail.
func TestDamage(t *testing.T) {
	const cases = 1000
	rng := rand.New(rand.NewPCG(11, 11))
	docs := segmenttest.RandomDocs(rng, 400, 300, 2)
	fs := vfstest.NewMem()
	opts := options(2)
	opts.Order = make([]base.DocID, len(docs))
	for i, p := range rng.Perm(len(docs)) {
		opts.Order[i] = base.DocID(p)
	}
	s := write(t, fs, "seg", opts, sources(t, fs, docs, 2)...)
	want := walk(s)
	if want.err != nil {
		t.Fatal(want.err)
	}
	names := []string{"meta"}
	for _, f := range s.Meta().Files {
		names = append(names, f.Name)
	}
	found := map[string]int{}
	for i := range cases {
		name := filepath.Join("seg", names[i%len(names)])
		damaged := fs.Clone()
		what := damage(rng, damaged, name)
		at := inspect(t, damaged, want)
		found[at]++
		if at == "" {
			t.Errorf("case %d: %s of %s goes unnoticed", i, what, name)
		}
	}
	t.Logf("found by: %v", found)
}

func damage(rng *rand.Rand, fs *vfstest.Mem, name string) string {
	data := fs.Get(name)
	switch rng.IntN(6) {
	case 0: // truncated
		fs.Set(name, data[:rng.IntN(len(data))])
		return "a cut"
	case 1: // extended
		fs.Set(name, append(data, make([]byte, 1+rng.IntN(100))...))
		return "bytes behind the end"
	case 2: // a zeroed page
		at := rng.IntN(len(data))
		page := data[at:min(at+4096, len(data))]
		before := string(page)
		clear(page)
		if before == string(page) {
			page[0] = 1
		}
		fs.Set(name, data)
		return "a page of zeros"
	default: // one to three flipped bits
		for range 1 + rng.IntN(3) {
			data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
		}
		if string(data) == string(fs.Get(name)) {
			data[0] ^= 1
		}
		fs.Set(name, data)
		return "a flip"
	}
}

func inspect(t *testing.T, fs *vfstest.Mem, want walked) string {
	t.Helper()
	s, err := segment.Open(fs, "seg")
	if err != nil {
		if !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
			t.Errorf("Open: %v, want ErrCorrupt", err)
		}
		return "open"
	}
	defer s.Close()
	got := walk(s)
	if got.err != nil && !errors.Is(got.err, base.ErrCorrupt) {
		t.Errorf("walk: %v, want ErrCorrupt", got.err)
	}
	if got.err == nil && got.text != want.text {
		t.Error("a walk gives a wrong answer without an error")
	}
	if err := s.Verify(context.Background(), nil); err != nil {
		if !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("Verify: %v, want ErrCorrupt", err)
		}
		return "verify"
	}
	return ""
}

// All that a search can read.
type walked struct {
	text string
	err  error
}

func walk(s *segment.Segment) (w walked) {
	var b strings.Builder
	var l postings.List
	for f := range s.Meta().Fields {
		for i := range uint64(300) {
			ok, err := s.FindParts(base.FieldID(f), []byte(segmenttest.Term(i)), segment.Positions|segment.Frontiers, &l)
			if err != nil {
				return walked{err: err}
			}
			if !ok {
				continue
			}
			if err := walkList(&b, s.Lengths(base.FieldID(f)), &l); err != nil {
				return walked{err: err}
			}
		}
	}
	var d segment.StoredDoc
	for i := range s.NumDocs() {
		id, err := s.ID(base.DocID(i))
		if err == nil {
			_, _, err = s.Lookup(id)
		}
		if err == nil {
			err = s.Stored(base.DocID(i), &d)
		}
		if err != nil {
			return walked{err: err}
		}
		b.Write(id)
		b.Write(d.Title)
		b.Write(d.Text)
	}
	return walked{text: b.String()}
}

func walkList(b *strings.Builder, lengths []uint32, l *postings.List) error {
	var docIDs, freqs [128]uint32
	for i := range l.NumBlocks() {
		size, err := l.DecodeDocIDs(i, &docIDs)
		if err == nil {
			err = l.DecodeFreqs(i, size, &freqs)
		}
		if err != nil {
			return err
		}
		positions, err := l.PositionBytes(i)
		if err != nil {
			return err
		}
		for j := range l.BlockSize(i) {
			for _, v := range []uint32{docIDs[j], freqs[j], lengths[docIDs[j]]} {
				b.WriteByte(byte(v))
				b.WriteByte(byte(v >> 8))
			}
		}
		b.Write(positions)
	}
	return nil
}
