package timeline

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/griffin-search/griffin"
)

var update = flag.Bool("update", false, "write the output of Text to testdata")

const us = time.Microsecond

// The query waited, moved from the GPU to the CPU, and transferred lists in both directions.
func sample() *griffin.Trace {
	return &griffin.Trace{Migrations: 1, Steps: []griffin.TraceStep{
		{Name: "parse", Processor: "cpu", Took: 4 * us},
		{Name: "plan", Processor: "cpu", Start: 4 * us, Took: 11 * us},
		{Name: "wait", Processor: "gpu", Start: 15 * us, Took: 30 * us},
		{
			Name: "intersect", Processor: "gpu0", Start: 45 * us, Took: 120 * us, Predicted: 100 * us, BusBytes: 1_230_000,
			Device: &griffin.TraceDevice{Bringing: 60 * us},
		},
		{Name: "intersect", Processor: "gpu0", Start: 165 * us, Took: 25 * us, Predicted: 40 * us, BusBytes: 64_000, Device: &griffin.TraceDevice{}},
		{Name: "intersect", Processor: "cpu", Start: 190 * us, Took: 50 * us, Predicted: 70 * us},
		{Name: "fetch", Processor: "cpu", Start: 240 * us, Took: 150 * us},
	}}
}

func TestText(t *testing.T) {
	chart := Of(sample())
	for name, s := range map[string]Style{
		"wide.txt":   {Width: 100},
		"narrow.txt": {Width: 30},
		"plain.txt":  {Width: 80, Plain: true},
		"colour.txt": {Width: 60, Color: func(k Kind) string { return "<" + string(k) + ">" }, Reset: "</>"},
	} {
		t.Run(name, func(t *testing.T) {
			got := chart.Text(s)
			path := "testdata/" + name
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s: got\n%swant\n%s(go test -update, if it is correct)", name, got, want)
			}
			if s.Color != nil {
				return
			}
			for line := range strings.Lines(got) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(s.Width, leastWidth) {
					t.Errorf("%s: a line of %d columns: %s", name, n, line)
				}
			}
			plain := strings.ReplaceAll(got, "µ", "")
			if s.Plain && len(plain) != utf8.RuneCountInString(plain) {
				t.Errorf("%s: more than ASCII:\n%s", name, got)
			}
		})
	}
}

// Bars begin and end where the steps do, within a column.
func TestTextIsToScale(t *testing.T) {
	c := Of(&griffin.Trace{Steps: []griffin.TraceStep{
		{Name: "a", Processor: "cpu", Took: 250 * us},
		{Name: "b", Processor: "cpu", Start: 250 * us, Took: 500 * us},
		{Name: "c", Processor: "cpu", Start: 750 * us, Took: 250 * us},
		{Name: "d", Processor: "cpu", Start: 1000 * us},
	}})
	d := drawing{chart: c, glyphs: ascii, bars: 40}
	for i, want := range []string{
		"##########" + strings.Repeat(" ", 30), strings.Repeat(" ", 10) + strings.Repeat("#", 20) + strings.Repeat(" ", 10),
		strings.Repeat(" ", 30) + "##########", strings.Repeat(" ", 39) + "#",
	} {
		b := &c.Lanes[0].Bars[i]
		if got := d.span(b.Start, b.Took, '#'); got != want {
			t.Errorf("%s: %q, want %q", b.Label, got, want)
		}
	}
}

func TestChart(t *testing.T) {
	c := Of(sample())
	var names []string
	for i := range c.Lanes {
		names = append(names, c.Lanes[i].Name)
	}
	if got := strings.Join(names, " "); got != "cpu wait bus gpu0" || c.End != 390*us {
		t.Errorf("lanes %s up to %v, want cpu wait bus gpu0 up to 390µs", got, c.End)
	}
	if len(c.Lanes[0].Bars) != 4 || len(c.Lanes[3].Bars) != 2 {
		t.Errorf("lanes %+v", c.Lanes)
	}
	for lane, want := range map[int]string{
		0: "parse on cpu from 0 µs for 4 µs", 1: "waited for gpu from 15 µs for 30 µs", 2: "1.23 MB over the bus from 45 µs for 60 µs",
		3: "intersect on gpu0 from 45 µs for 120 µs, predicted 100 µs",
	} {
		if got := c.Lanes[lane].Bars[0].Describe(&c.Lanes[lane]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got, want := c.Lanes[2].Bars[1].Describe(&c.Lanes[2]), "64 KB over the bus while the step at 165 µs ran"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if Of(nil) != nil || Of(&griffin.Trace{}) != nil {
		t.Error("a chart without steps")
	}
	if c := Of(&griffin.Trace{Steps: []griffin.TraceStep{{Name: "parse", Processor: "cpu"}}}); c.End <= 0 || c.Text(Style{}) == "" {
		t.Errorf("a step without time: %+v", c)
	}
}

func TestUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 µs", 5: "0 µs", 83: "0.083 µs", 8314: "8.31 µs", 123456: "123 µs", 999_499: "999 µs", 999_500: "1 ms", 999_600_000: "1.00 s", 1234567: "1.23 ms", 2500 * time.Millisecond: "2.50 s", time.Minute: "60.00 s",
	} {
		if got := Time(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{640: "640 B", 999_900: "1 MB", 1_230_000: "1.23 MB", 7_000_000_000: "7 GB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
