package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"griffin": main,
	})
}

// Each file of testdata/script is a shell session.
func TestScripts(t *testing.T) {
	library := gputest.Library(t).Path()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("TEST_CUDA_LIBRARY", library)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector waits a second at the end of each process
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "all" { // all cases are tested, the slow ones too
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return sampletest.All(), nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exitcode":   exitCodeCommand,
			"eventually": eventuallyCommand,
			"json":       jsonCommand,
			"flip":       flipCommand,
		},
	})
}

// exitCodeCommand checks an exit code: exitcode 3 griffin verify x.
func exitCodeCommand(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit := (*exec.ExitError)(nil)
		if !asExit(err, &exit) {
			ts.Fatalf("%v: %v", args[1:], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v: exit code %d, want %d", args[1:], got, want)
	}
}

// eventuallyCommand repeats a measurement on a busy machine until it succeeds: eventually
// griffin load x.idx --soak.
func eventuallyCommand(ts *testscript.TestScript, _ bool, args []string) {
	const attempts = 10
	var err error
	for range attempts {
		if err = ts.Exec(args[0], args[1:]...); err == nil {
			return
		}
	}
	ts.Fatalf("%v, %d times: %v", args, attempts, err)
}

func asExit(err error, target **exec.ExitError) bool {
	exit, ok := err.(*exec.ExitError) //nolint:errorlint // testscript returns it unwrapped
	*target = exit
	return ok
}

// jsonCommand checks the JSON on standard output: json hits.0.id=a num_docs=3.
func jsonCommand(ts *testscript.TestScript, _ bool, args []string) {
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc); err != nil {
		ts.Fatalf("standard output is no JSON: %v", err)
	}
	for _, arg := range args {
		path, want, equal := strings.Cut(arg, "=")
		got, ok := lookUp(doc, strings.Split(path, "."))
		switch {
		case !ok:
			ts.Fatalf("JSON has no %s", path)
		case equal && fmt.Sprint(got) != want:
			ts.Fatalf("%s is %v, want %s", path, got, want)
		}
	}
}

func lookUp(v any, path []string) (any, bool) {
	for _, key := range path {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// flipCommand inverts the byte in the middle of a file.
func flipCommand(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	data, err := os.ReadFile(name)
	ts.Check(err)
	data[len(data)/2] ^= 0xff
	ts.Check(os.WriteFile(name, data, 0o644))
}

func TestHelp(t *testing.T) {
	root := newRootCommand(&app{console: &console{}})
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Runnable() && c.Example == "" {
			t.Errorf("%s: --help has no example", c.CommandPath())
		}
		if c.Short == "" {
			t.Errorf("%s: no description", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s: no description", c.CommandPath(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// The guide, docs/guides/exit-codes.md, holds for errors before an index is opened.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		args string
		want int
	}{
		{"version", exitOK},
		{"", exitOK},
		{"--version", exitOK},
		{"-v", exitOK},
		{"nonsense", exitUsage},
		{"ciff nonsense", exitUsage},
		{"search", exitUsage},
		{"search --no-such-flag x", exitUsage},
		{"search /nowhere q", exitIndex},
		{"search /nowhere q --mode xor", exitUsage},
		{"--color pink version", exitUsage},
		{"index /nowhere", exitUsage},
		{"eval --qrels /nowhere run", exitFailure},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out, errOut bytes.Buffer
			got := realMain(strings.Fields(c.args), terminal{in: strings.NewReader(""), out: &out, err: &errOut})
			if got != c.want {
				t.Errorf("griffin %s: exit code %d, want %d\n%s", c.args, got, c.want, errOut.String())
			}
			if got != exitOK && !strings.HasPrefix(errOut.String(), "griffin: ") {
				t.Errorf("griffin %s: no message on standard error: %q", c.args, errOut.String())
			}
		})
	}
}

func TestSuggestions(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"serch x.idx word", `unknown command "serch" for "griffin"; did you mean "search"?`},
		{"xyzzy", "unknown command \"xyzzy\" for \"griffin\"\n"},
		{"ciff imprt", `did you mean "import"?`},
		{"help serch", `unknown command "serch" for "griffin"; did you mean "search"?`},
		{"help ciff imprt", `unknown command "imprt" for "griffin ciff"; did you mean "import"?`},
		{"completion zhs", `unknown command "zhs" for "griffin completion"; did you mean "zsh"?`},
		{"lab lst", `did you mean "list"?`},
		{"search x.idx word --mod and", "unknown flag --mod; did you mean --mode?"},
		{"search x.idx word --snippet", "unknown flag --snippet\n"},
		{"index --replce x", "did you mean --replace?"},
		{"search x.idx alan -turing", "griffin search INDEX -- word -turing"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := realMain(strings.Fields(c.args), terminal{in: strings.NewReader(""), out: &out, err: &errOut})
			if code != exitUsage || !strings.Contains(errOut.String(), c.want) {
				t.Errorf("exit code %d, want %d and %q:\n%s", code, exitUsage, c.want, &errOut)
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"search x.idx --mode ":       "and+or\n",
		"search x.idx --traversal ":  "maxscore\n",
		"index --analyzer ":          "english\n",
		"index --format ":            "jsonl\n",
		"add x.idx --format ":        "jsonl\n",
		"index --codec ":             "simdbp\n",
		"serve x.idx --policy ":      "cost\t",
		"--color ":                   "always\n",
		"eval -m ":                   "nDCG@10\n",
		"search ":                    ":16\n", // folders
		"search x.idx ":              ":4\n",  // no files
		"add x.idx ":                 ":0\n",  // files
		"ciff import --analyzer ":    "english\n",
		"lab generate --codec ":      "simdbp\n",
		"load x.idx --device ":       "gpu\n",
		"bench x.idx --accumulators": "--accumulators\t",
	} {
		t.Run(args, func(t *testing.T) {
			var out, errOut bytes.Buffer
			words := append([]string{"__complete"}, strings.Split(args, " ")...)
			realMain(words, terminal{in: strings.NewReader(""), out: &out, err: &errOut})
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in:\n%s%s", want, &out, &errOut)
			}
		})
	}
}

// Control characters do not reach the terminal.
func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                 "plain",
		"a\nb\tc":               "a b c",
		"\x1b[2Jgone\x07":       "[2Jgone",
		"back\u202efdp.exe":     "backfdp.exe",
		"c1 \u009b31m controls": "c1  31m controls",
	} {
		if got := oneLine(text); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", text, got, want)
		}
	}
}

// Snippets break only at spaces, also within partly highlighted words.
func TestWrap(t *testing.T) {
	s := griffin.Snippet{Text: "see http://host and the rate limit", Highlights: []griffin.Span{{Start: 4, End: 8}, {Start: 24, End: 34}}}
	want := "> see\n> *http*://host\n> and the\n> *rate* *limit*\n"
	if got := wrap(s, style{}, 10, "> "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSizeFlag(t *testing.T) {
	for text, want := range map[string]int64{"512M": 512 << 20, "1GiB": 1 << 30, "2000000": 2000000, "1.5g": 3 << 29, "64 KB": 64 << 10} {
		t.Run(text, func(t *testing.T) {
			var s sizeFlag
			if err := s.Set(text); err != nil || int64(s) != want {
				t.Errorf("Set(%q) = %d, %v; want %d", text, s, err, want)
			}
		})
	}
	for _, text := range []string{"", "M", "-1", "0", "1X", "x", "1e400", "9999999T", "NaN"} {
		var s sizeFlag
		if err := s.Set(text); err == nil {
			t.Errorf("Set(%q) = %d without an error", text, s)
		}
	}
}

func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		count(0): "0", count(-1234): "-1,234", count(1234567): "1,234,567", count(999): "999", plural(1, "query"): "1 query", plural(1200, "query"): "1,200 queries", plural(0, "hit"): "0 hits",
		sizeOf(999): "999 B", sizeOf(1 << 20): "1 MiB", sizeOf(int64(1536) << 20): "1.5 GiB",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMessagesAreBounded(t *testing.T) {
	var out bytes.Buffer
	a := &app{console: &console{terminal: terminal{err: &out}}}
	m := messages{progress: a.newProgress()}
	for i := range maxMessages + 50 {
		m.add("message %d", i)
	}
	if got := strings.Count(out.String(), "\n"); got != maxMessages+1 {
		t.Errorf("%d lines, want %d", got, maxMessages+1)
	}
	if !strings.HasSuffix(out.String(), "counted only\n") {
		t.Error("the bound is not told at the end")
	}
}
