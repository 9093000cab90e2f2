package corpus

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"unicode/utf8"
)

// Strings that are parts of others are found, and Unescape agrees with encoding/json.
func TestShared(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	pieces := []string{"one ", "two ", "three ", `"`, "\\", "\n", "\x01", "/", "<&>", "é", "中", "\U0001F600", "\uFFFD", "\u2028"}
	random := func(n int) (s string) {
		for range n {
			s += pieces[min(rng.IntN(len(pieces)), rng.IntN(len(pieces)))]
		}
		return s
	}
	shared := new(Shared)
	found := 0
	for range 3000 {
		text, other := random(rng.IntN(40)), random(rng.IntN(20))
		source, err := json.Marshal(map[string]string{"text": text, "other": other})
		if err != nil {
			t.Fatal(err)
		}
		list := []string{"id", other, text, "text", text, string(source), ""}
		for _, escapes := range []bool{false, true} {
			shared.Reset()
			for _, s := range list {
				shared.Add(s)
			}
			shared.Find(escapes)
			if shared.Escaped() {
				found++
				if !escapes {
					t.Fatal("escapes were not wanted")
				}
			}
			b := shared.AppendTexts(nil)
			size, n := binary.Uvarint(b)
			texts, sum := b[n:], 0
			if uint64(len(texts)) != size {
				t.Fatalf("%d bytes of texts, want %d", len(texts), size)
			}
			for i, want := range list {
				sum += len(want)
				place := shared.AppendMarkedPlace(nil, i)
				at, n := binary.Uvarint(place)
				length, _ := binary.Uvarint(place[n:])
				got := texts[at : at+length>>1]
				if length&1 != 0 {
					var ok bool
					if got, ok = Unescape(nil, got); !ok {
						t.Fatalf("%q: an escape is not valid", texts)
					}
				}
				if string(got) != want {
					t.Fatalf("string %d of %q is %q", i, list, got)
				}
				if short := shared.AppendPlace(nil, i); !escapes {
					if at2, n := binary.Uvarint(short); at2 != at || binary.AppendUvarint(nil, length>>1)[0] != short[n] {
						t.Fatalf("place %x, and with a mark %x", short, place)
					}
				}
			}
			if got := shared.SavedBytes(); got != sum-len(texts) {
				t.Fatalf("%d bytes saved, want %d", got, sum-len(texts))
			}
		}
	}
	if found < 200 {
		t.Errorf("%d strings were escaped", found)
	}
}

func FuzzUnescape(f *testing.F) {
	for _, s := range []string{`a\n`, `\ud83d\ude00`, `\ud83d`, `\udc00\ud83d`, `\ud83d\n`, `\u12`, `\x`, `\`, `\ud83d\u12`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		got, ok := Unescape(nil, src)
		again, same := Unescape(nil, []byte(src))
		if same != ok || string(again) != string(got) {
			t.Fatalf("%q: %q and %q", src, got, again)
		}
		var want string
		if err := json.Unmarshal([]byte(`"`+src+`"`), &want); err == nil && utf8.ValidString(src) && (!ok || string(got) != want) {
			t.Fatalf("%q: %q, %t, want %q", src, got, ok, want)
		}
		if ok && utf8.ValidString(src) && len(src) > 0 {
			if n := escapedPrefix(src+"x", string(got)); n > len(src) || n == 0 {
				t.Fatalf("%q is in the first %d bytes of %q", got, n, src)
			}
		}
	})
}
