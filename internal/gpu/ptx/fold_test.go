package ptx

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const kernel = `.visible .entry add(
	.param .align 8 .b8 add_param_0[32]
)
{
	.reg .b32 	%r<9>;
	mov.u32 	%r1, %tid.x;
	add.s32 	%r7, %r1, %r1;
	@!%p12 bra 	$L__BB0_2;
	add.s32 	%r8, %r7, %r1;
	ld.shared.u64 	%rd5, [%rd5+8];
	{ .reg .b32 tmp; mov.b64 {tmp, %r2}, %rd5; }
$L__BB0_2:
}
.entry next()
{
	mov.u32 	%r1, %r0;
}
`

const folded = `.visible .entry add(
	.param .align 8 .b8 add_param_0[32]
)
{
	.reg .b32 	%r<9>;
	mov.u32 	%r!0, %tid.x;
	add.s32 	%r!5, %r1, %r1;
	@!%p!11 bra 	$L__BB0_!1;
	add.s32 	%r!0, %r1, %r2;
	ld.shared.u64 	%rd!4, [%rd0+8];
	{ .reg .b32 tmp; mov.b64 {tmp, %r!-7}, %rd0; }
$L__BB0_0:
}
.entry next()
{
	mov.u32 	%r!0, %r!-2;
}
`

func TestFold(t *testing.T) {
	got, err := Fold([]byte(kernel))
	if err != nil || string(got) != folded {
		t.Errorf("Fold = %s, %v, want\n%s", got, err, folded)
	}
	back, err := Unfold([]byte(folded))
	if err != nil || string(back) != kernel {
		t.Errorf("Unfold = %s, %v, want\n%s", back, err, kernel)
	}
}

func TestFoldRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"%r!0": `ptx: line 1: a name is followed by "!"`, "x\n%r01": "ptx: line 2: number 01",
		"%r2147483648": "ptx: line 1: number 2147483648", "$99999999999999999999": "ptx: line 1: number 99999999999999999999",
	} {
		if got, err := Fold([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("Fold(%q) = %q, %v, want %s", text, got, err, want)
		}
	}
	if _, err := Fold([]byte("%r2147483647")); err != nil {
		t.Errorf("the largest number: %v", err)
	}
}

func TestUnfoldRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"%r0": "ptx: line 1: the number before 0 others, of 0", "%r!0\n%r1": "ptx: line 2: the number before 1 others, of 1",
		"%r!0\n{\n%r0": "ptx: line 3: the number before 0 others, of 0",
		"%r!":          "ptx: line 1: distance ", "%r!-": "ptx: line 1: distance -", "%r!-2": "ptx: line 1: distance -2",
		"%r!2147483647": "ptx: line 1: distance 2147483647", "%r!99999999999999999999": "ptx: line 1: distance 99999999999999999999",
	} {
		if got, err := Unfold([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("Unfold(%q) = %q, %v, want %s", text, got, err, want)
		}
	}
}

// decompress is make kernels backwards: an image imagesearch_X has imagesearch as dictionary.
func decompress(name string, image []byte) ([]byte, error) {
	var options []zstd.DOption
	if base, _, is := strings.Cut(name, "/imagesearch_"); is {
		compressed, err := os.ReadFile(base + "/imagesearch.ptx.zst")
		if err != nil {
			return nil, err
		}
		dictionary, err := decompress(base, compressed)
		if err != nil {
			return nil, err
		}
		options = append(options, zstd.WithDecoderDictRaw(0, dictionary))
	}
	decoder, err := zstd.NewReader(nil, options...)
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	return decoder.DecodeAll(image, nil)
}

// The images are folded PTX: no register has a number that its function does not declare.
func TestImages(t *testing.T) {
	images, err := filepath.Glob("../../*/*/image/*.ptx.zst")
	if err != nil || len(images) < 20 {
		t.Fatalf("%d images, %v", len(images), err)
	}
	for _, image := range images {
		compressed, err := os.ReadFile(image)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := decompress(image, compressed)
		if err != nil {
			t.Errorf("%s: %v", image, err)
			continue
		}
		text, err := Unfold(stored)
		if err != nil {
			t.Errorf("%s: %v", image, err)
			continue
		}
		if again, err := Fold(text); err != nil || !bytes.Equal(again, stored) {
			t.Errorf("%s is not folded: %v", image, err)
		}
		if checked := checkRegisters(t, image, string(text)); checked < 20 {
			t.Errorf("%s: %d registers were checked", image, checked)
		}
	}
}

var register = regexp.MustCompile(`%(p|rs|r|rd|f|fd)(<?)(\d+)\b`)

func checkRegisters(t *testing.T, image, text string) int {
	t.Helper()
	declared := map[string]int{}
	checked := 0
	for line := range strings.Lines(text) {
		if line[0] == '{' {
			clear(declared)
		}
		for _, m := range register.FindAllStringSubmatch(line, -1) {
			n, err := strconv.Atoi(m[3])
			if err != nil {
				t.Fatal(err)
			}
			if m[2] == "<" {
				declared[m[1]] = n
				continue
			}
			checked++
			if n < 1 || n >= declared[m[1]] {
				t.Fatalf("%s: %s is not declared in %q", image, m[0], line)
			}
		}
	}
	return checked
}

func FuzzFold(f *testing.F) {
	f.Add([]byte(kernel))
	f.Add([]byte(folded))
	f.Add([]byte("%r2147483647%r0\r{%$"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if short, err := Fold(text); err == nil {
			if back, err := Unfold(short); err != nil || !bytes.Equal(back, text) {
				t.Errorf("Unfold(%q) = %q, %v, want %q", short, back, err, text)
			}
		}
		if _, err := Unfold(text); err != nil && !strings.HasPrefix(err.Error(), "ptx: ") {
			t.Error(err)
		}
	})
}
