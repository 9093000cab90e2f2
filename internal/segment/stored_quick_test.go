package segment

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"

	"github.com/griffin-search/griffin/internal/base"
)

// quickFrame returns a frame, which decoders of one and of several blocks must read.
func quickFrame(tb testing.TB, q *quickBlocks, raw []byte) []byte {
	tb.Helper()
	e, kept := encoders.get()
	defer encoders.put(e, kept)
	const before = "before"
	frame := q.compress([]byte(before), raw, e)
	if string(frame[:len(before)]) != before {
		tb.Fatalf("%q", frame[:len(before)])
	}
	frame = frame[len(before):]
	for _, o := range [][]zstd.DOption{{zstd.WithDecoderConcurrency(1)}, {zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true)}} {
		d, err := zstd.NewReader(nil, o...)
		if err != nil {
			tb.Fatal(err)
		}
		if got, err := d.DecodeAll(frame, nil); err != nil || !bytes.Equal(got, raw) {
			tb.Fatalf("%d bytes: %v, %d after", len(raw), err, len(got))
		}
		d.Close()
	}
	if got, err := decompress(make([]byte, 0, len(raw)), frame); err != nil || !bytes.Equal(got, raw) {
		tb.Fatalf("%d bytes: %v, %d after", len(raw), err, len(got))
	}
	return frame
}

// randomLetters are letters of which the first are the most frequent ones, with hardly any repetition.
func randomLetters(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(min(rng.IntN(26), rng.IntN(26)))
	}
	return b
}

// Frames hold their bytes at all sizes at which headers change, and are recognised; other frames are not.
func TestQuickBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{
		0, 1, 7, minLiterals - 1, minLiterals, minLiterals + 1, 1000, storedBlockLen, 1<<14 - 1, 1 << 14, 1<<14 + 1,
		1<<16 - 1, 1 << 16, maxLiterals - 1, maxLiterals, maxLiterals + 1, 300_000,
	} {
		q := quickBlocks{n: 1} // no trial
		frame := quickFrame(t, &q, randomLetters(rng, n))
		if want := n >= minLiterals && n <= maxLiterals; isLiterals(frame) != want {
			t.Errorf("%d bytes: literals %t, want %t", n, !want, want)
		}
		for _, other := range [][]byte{bytes.Repeat([]byte("again "), n/6), make([]byte, n), randomBytes(rng, n)} {
			q := quickBlocks{n: 1, repeats: true}
			if frame := quickFrame(t, &q, other); isLiterals(frame) && n > minLiterals {
				t.Errorf("%d bytes: a frame of zstd's encoder taken for literals", n)
			}
			quickFrame(t, &quickBlocks{n: 1}, other)
		}
		for cut := range min(len(frame), 40) {
			if isLiterals(frame[:cut]) {
				t.Errorf("%d of %d bytes are a frame", cut, len(frame))
			}
		}
	}
}

// Frames whose codes have nearly the length of their bytes can be read.
func TestQuickHardlyCompressible(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	var scratch huff0.Scratch
	for _, n := range []int{300, 1500, storedBlockLen, 1 << 14} {
		near, literals := 0, 0
		for range 50 { // until the same byte is so frequent that codes are short
			raw := randomBytes(rng, n)
			for _, i := range rng.Perm(n) {
				raw[i] = 'e'
				if i%(1+n/1000) != 0 {
					continue
				}
				codes, _, err := huff0.Compress4X(raw, &scratch)
				if err != nil {
					continue
				}
				if len(codes) < n-12 {
					break
				}
				near++
				if frame := quickFrame(t, &quickBlocks{n: 1}, raw); isLiterals(frame) {
					literals++
					if block := len(frame) - literalsHeaderLen - blockHeaderLen; block >= n {
						t.Errorf("%d bytes: a block of %d", n, block)
					}
				}
			}
		}
		if literals == 0 || near == literals {
			t.Errorf("%d bytes: %d of %d frames of literals", n, literals, near)
		}
	}
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// A trial block finds out whether the next ones have repetitions that pay.
func TestQuickTrials(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	text := func() []byte { return randomLetters(rng, storedBlockLen) }
	records := func() []byte {
		var b []byte
		for len(b) < storedBlockLen {
			b = fmt.Appendf(b, `{"level":"info","message":"request ended","status":200,"user":%d}`, rng.IntN(1000))
		}
		return b
	}
	var q quickBlocks
	if !isLiterals(quickFrame(t, &q, records()[:minCopied-1])) {
		t.Error("a small block, which is compressed again soon, is a trial")
	}
	quickFrame(t, &q, randomLetters(rng, maxLiterals+1)) // no trial, either
	for i := range 4 * blocksPerTrial {
		raw := text()
		if i >= 2*blocksPerTrial {
			raw = records()
		}
		frame := quickFrame(t, &q, raw)
		// Records begin with a trial.
		if got, want := isLiterals(frame), i < 2*blocksPerTrial; got != want {
			t.Errorf("block %d: literals %t, want %t", i, got, want)
		}
	}
}

func FuzzQuickBlocks(f *testing.F) {
	f.Add([]byte(strings.Repeat("some text and other text ", 20)), 1, false)
	f.Add(make([]byte, 1000), 0, true)
	f.Fuzz(func(t *testing.T, raw []byte, n int, repeats bool) {
		quickFrame(t, &quickBlocks{n: n & 63, repeats: repeats}, raw)
		isLiterals(raw)
	})
}

// storeQuickly stores texts as a living index does; size is the file's.
func storeQuickly(t *testing.T, texts []string) (r *StoredReader, size int64) {
	t.Helper()
	memory := NewStoredMemory()
	t.Cleanup(memory.Free)
	var w StoredWriter
	w.Reset(memory)
	for _, text := range texts {
		if err := w.Add("title", text, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := memory.Open()
	if err != nil {
		t.Fatal(err)
	}
	return r, memory.SizeBytes()
}

// Numbers and keys have no repetitions; a merge does not make them larger.
func TestRecompressKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for name, letters := range map[string]string{"digits": "0123456789", "hexadecimal": "0123456789abcdef", "words": "abcdefghijklmnopqrstuvwxyz     "} {
		var texts []string
		for range 200 {
			text := make([]byte, 1000)
			for i := range text {
				text[i] = letters[rng.IntN(len(letters))]
			}
			texts = append(texts, string(text))
		}
		source, before := storeQuickly(t, texts)
		m := NewStoredMemory()
		t.Cleanup(m.Free)
		out := &StoredWriter{out: m}
		sw := &writer{opts: Options{Recompress: true}}
		if err := errors.Join(sw.copyStored(t.Context(), out, source, nil), out.Close()); err != nil {
			t.Fatal(err)
		}
		if after := m.SizeBytes(); after > before+before/50 {
			t.Errorf("%s: %d bytes, %d compressed again", name, before, after)
		}
	}
}

// A segment that is written with Recompress has the same documents in fewer bytes.
func TestRecompress(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	var phrases []string
	phrase := func() string { // two of seven are earlier ones
		if n := len(phrases); n > 50 && rng.IntN(7) < 2 {
			return phrases[n-1-rng.IntN(50)]
		}
		letters := randomBytes(rng, 50)
		for i := range letters {
			letters[i] = ' ' + letters[i]%64
		}
		phrases = append(phrases, string(letters))
		return phrases[len(phrases)-1]
	}
	var texts []string
	for range 2000 {
		var text []string
		for range 1 + rng.IntN(50) {
			text = append(text, phrase())
		}
		texts = append(texts, strings.Join(text, " "))
	}
	source, _ := storeQuickly(t, texts)
	copied := func(o Options) *StoredMemory {
		m := NewStoredMemory()
		t.Cleanup(m.Free)
		out := &StoredWriter{out: m}
		drop := NewBitmap(len(texts))
		drop.Set(7)
		sw := &writer{opts: o}
		if err := errors.Join(sw.copyStored(t.Context(), out, source, drop), out.Close()); err != nil {
			t.Fatal(err)
		}
		r, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		var d StoredDoc
		n := base.DocID(0)
		for i, text := range texts {
			if i == 7 {
				continue
			}
			if err := r.Get(n, &d); err != nil || string(d.Text) != text {
				t.Fatalf("document %d: %q, %v, want %q", n, d.Text, err, text)
			}
			n++
		}
		quick := 0
		if err := r.eachBlock(t.Context(), func(_ int, b *storedBlock) error {
			if isLiterals(b.frame) {
				quick++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if total := r.numBlocks(); o.Recompress && quick > 0 || !o.Recompress && quick < total*9/10 {
			t.Errorf("recompress %t: %d of %d blocks are of literals", o.Recompress, quick, total)
		}
		return m
	}
	as, small := copied(Options{}), copied(Options{Recompress: true})
	if again := as.SizeBytes(); small.SizeBytes() >= again*9/10 {
		t.Errorf("%d bytes, %d compressed again", again, small.SizeBytes())
	}
}
