package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// layers is the import policy of the module, lowest layer first. A package may import
// packages of lower layers only. "." is the root package, griffin.
//
// Changing this table is a design decision: give the reason in the commit.
var layers = [][]string{
	0: {
		"internal/base", "internal/footprint", "internal/invariant", "internal/vfs",
		"internal/simd", "internal/simd/bitpack", "internal/simd/bitpack/genunpack", "internal/simd/eliasfano", "internal/simd/letters", "internal/simd/line", "internal/simd/pfor", "internal/simd/qmx", "internal/simd/scoring", "internal/simd/accumulate", "internal/simd/column", "internal/turns", "internal/contraction", "internal/suggest", "internal/jsonout",
		"internal/gpu/cuda", "internal/gpu/ptx", "internal/gpu/ptx/foldptx",
	},
	1: {
		"codec", "internal/score", "internal/topk", "internal/analysis", "internal/automaton",
		"internal/corpus", "internal/mapping", "internal/reorder", "internal/sealed", "internal/staging", "internal/latency", "internal/derived", "internal/sched", "internal/cost", "internal/wal", "internal/column", "ciff", "trec",
	},
	2:  {"internal/sched/simulation", "internal/postings", "internal/segment", "internal/impact", "internal/leg", "query", "internal/snippet", "internal/load", "internal/watch", "internal/gpu/decode", "internal/papers/intersect", "internal/papers/para", "internal/papers/scoring", "internal/papers/selection"},
	3:  {"internal/traverse", "internal/papers/decoders", "internal/gpu/packedsearch", "internal/gpu/imagesearch", "internal/gpu/residency", "internal/gpu/pipeline", "internal/papers/lists", "internal/saat", "internal/saat/genloops", "internal/inverter", "internal/index", "internal/interchange"},
	4:  {"internal/plan", "internal/collection", "internal/papers/card", "internal/living", "internal/backup", "internal/spelling"},
	5:  {"internal/aggregate", "internal/collect", "internal/resultcache", "internal/engine", "internal/bucket"},
	6:  {"internal/dispatch", "internal/papers/griffin18", "internal/papers/saat", "internal/papers/ding09", "internal/papers/ao11"},
	7:  {"internal/calibrate", "engines"},
	8:  {".", "internal/regret"},
	9:  {"internal/timeline"},
	10: {"internal/rest", "internal/server", "internal/goldens", "internal/lab", "internal/lab/experiments", "bench/living/process"},
	11: {"bench/codecs", "bench/gpu", "bench/gpu/filters", "bench/living", "bench/living/http", "bench/living/many", "bench/living/updates", "bench/sizes", "bench/structured", "bench/traversals", "cmd/griffin"},
}

// sideways lists the allowed imports within one layer, with reasons. The compiler prevents
// cycles.
var sideways = []struct{ from, to, why string }{
	{"internal/vfs", "internal/base", "Lock returns base.ErrLocked"},
	{"internal/simd/bitpack", "internal/simd", "kernels ask which instructions there are"},
	{"internal/simd/eliasfano", "internal/simd", "kernels ask which instructions there are"},
	{"internal/simd/eliasfano", "internal/simd/bitpack", "the low bits are packed"},
	{"internal/simd/pfor", "internal/simd", "kernels ask which instructions there are"},
	{"internal/simd/pfor", "internal/simd/bitpack", "the slots are packed"},
	{"internal/simd/qmx", "internal/simd", "kernels ask which instructions there are"},
	{"internal/simd/qmx", "internal/simd/bitpack", "the last values of a block are packed"},
	{"internal/simd/letters", "internal/simd", "kernels ask which instructions there are"},
	{"internal/simd/line", "internal/simd", "kernels ask which instructions there are"},
	{"internal/simd/scoring", "internal/simd", "kernels ask which instructions there are"},
	{"internal/simd/accumulate", "internal/simd", "kernels ask which instructions there are"},
	{"internal/simd/column", "internal/simd", "kernels ask which instructions there are"},
	{"internal/simd/column", "internal/simd/bitpack", "values of up to 32 bits are packed likewise"},
	{"internal/gpu/cuda", "internal/invariant", "a broken contract of the driver is a bug"},
	{"internal/gpu/cuda", "internal/gpu/ptx", "images are folded"},
	{"internal/gpu/ptx/foldptx", "internal/gpu/ptx", "the program folds what make kernels compiled"},
	{"internal/gpu/packedsearch", "internal/gpu/imagesearch", "both search an imagesearch.Segment, with the same limits"},
	{"internal/gpu/residency", "internal/gpu/imagesearch", "images are made by their kernels"},
	{"internal/gpu/residency", "internal/gpu/packedsearch", "which codecs are read compressed decides what a list is worth"},
	{"internal/gpu/pipeline", "internal/gpu/residency", "a pipeline runs queries against what is resident"},
	{"internal/gpu/pipeline", "internal/gpu/imagesearch", "a pipeline searches images"},
	{"internal/gpu/pipeline", "internal/gpu/packedsearch", "a pipeline searches compressed lists"},
	{"internal/index", "internal/inverter", "a build commits what an inverter made"},
	{"internal/segment", "internal/postings", "a segment is made of posting lists"},
	{"internal/leg", "internal/postings", "a leg is a list with its weight"},
	{"internal/leg", "internal/impact", "or an impact-ordered list"},
	{"internal/papers/para", "internal/papers/intersect", "a batch is of lists as one query has them"},
	{"internal/server", "internal/rest", "the server mounts the API of a directory"},
	{"internal/lab/experiments", "internal/lab", "experiments are written against the lab"},
}

// restricted lists packages that only some packages may import, with the packages below them.
var restricted = []struct {
	what string
	only []string
	why  string
}{
	{"C", nil, "Griffin builds without a C toolchain"},
	{"unsafe", []string{"internal/gpu/cuda", "internal/inverter", "internal/load", "internal/papers/lists", "internal/postings", "internal/segment", "internal/vfs", "internal/vfs/vfstest"}, "views into bytes stay below the planner, addresses for the GPU's driver in its package; load passes structures to system calls without a wrapper; vfs maps files"},
	{module + "/internal/gpu/cuda", []string{"bench/gpu", "internal/gpu", "internal/papers", "internal/dispatch", "internal/lab"}, "only the dispatcher and the experiments know that a GPU exists"},
	{module + "/internal/gpu/pipeline", []string{"internal/calibrate", "internal/dispatch", "internal/lab"}, "plans do not depend on the processor that runs them"},
	{"gocloud.dev", []string{"internal/bucket"}, "the SDKs of providers have megabytes: a build tag leaves the package out"},
	{"github.com/fsnotify/fsnotify", []string{"internal/watch"}, "events of the system say where to look, and scans say what is there: one package knows both"},
	{"github.com/ebitengine/purego", []string{"internal/gpu/cuda", "internal/gpu/gputest"}, "what is loaded at run time goes through one package"},
}

// testSupport reports whether pkg exists for tests only: internal/arch,
// internal/shareddata, and every package whose name ends in "test".
func testSupport(pkg string) bool {
	return pkg == "internal/arch" || pkg == "internal/shareddata" || strings.HasSuffix(path.Base(pkg), "test")
}

func layerOf(pkg string) (int, bool) {
	for i, l := range layers {
		if slices.Contains(l, pkg) {
			return i, true
		}
	}
	return 0, false
}

// test means that the importing file is a test.
func checkImport(from, imported string, test bool) string {
	for _, r := range restricted {
		if within(imported, r.what) && !slices.ContainsFunc(r.only, func(p string) bool { return within(from, p) }) {
			return fmt.Sprintf("may be imported by %q only: %s", r.only, r.why)
		}
	}
	to, ok := inModule(imported)
	if !ok {
		return ""
	}
	support := test || testSupport(from)
	if testSupport(to) {
		if support {
			return ""
		}
		return "is test support: move what is needed out of it, or the importer into a _test.go file"
	}
	toLayer, ok := layerOf(to)
	if !ok {
		return "is in no layer: add it to layers in internal/arch/deps_test.go"
	}
	if testSupport(from) {
		return "" // no layer: its importers are checked separately
	}
	fromLayer, ok := layerOf(from)
	if !ok {
		return "" // TestEveryPackageHasALayer reports it
	}
	switch {
	case toLayer < fromLayer, from == to:
		return ""
	case test && toLayer == fromLayer:
		return ""
	case slices.ContainsFunc(sideways, func(s struct{ from, to, why string }) bool { return s.from == from && s.to == to }):
		return ""
	case toLayer == fromLayer:
		return fmt.Sprintf("is in the same layer, %d: move what both need to a lower layer, "+
			"or, if one truly stands on the other, add the pair with its reason to sideways in internal/arch/deps_test.go", toLayer)
	}
	return fmt.Sprintf("is in layer %d, above layer %d: let the upper package pass in what is needed, or move it down", toLayer, fromLayer)
}

func within(pkg, root string) bool { return pkg == root || strings.HasPrefix(pkg, root+"/") }

func TestImportsPointDownward(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, imp := range f.imports {
			if msg := checkImport(f.pkg, imp, f.test); msg != "" {
				t.Errorf("%s imports %s, which %s", f.path, imp, msg)
			}
		}
	}
}

func TestEveryPackageHasALayer(t *testing.T) {
	pkgs := packages(t)
	for _, pkg := range pkgs {
		if _, ok := layerOf(pkg); !ok && !testSupport(pkg) {
			t.Errorf("package %s is in no layer: add it to layers in internal/arch/deps_test.go", pkg)
		}
	}
	for i, l := range layers {
		for _, pkg := range l {
			if !slices.Contains(pkgs, pkg) {
				t.Errorf("layer %d names %s, which is not a package: remove it from layers", i, pkg)
			}
		}
	}
}

func TestSidewaysImportsAreUsed(t *testing.T) {
	for _, s := range sideways {
		used := slices.ContainsFunc(goFiles(t), func(f goFile) bool {
			return f.pkg == s.from && !f.test && slices.Contains(f.imports, path.Join(module, s.to))
		})
		if !used {
			t.Errorf("sideways allows %s to import %s (%s), but it does not: remove the entry", s.from, s.to, s.why)
		}
	}
}

func TestRestrictedImportsAreUsed(t *testing.T) {
	for _, r := range restricted {
		for _, only := range r.only {
			used := slices.ContainsFunc(goFiles(t), func(f goFile) bool {
				return within(f.pkg, only) && slices.ContainsFunc(f.imports, func(imp string) bool { return within(imp, r.what) })
			})
			if !used {
				t.Errorf("restricted allows %s to import %s (%s), but it does not: remove it", only, r.what, r.why)
			}
		}
	}
}

func TestCheckImport(t *testing.T) {
	for _, c := range []struct {
		from, imported string
		test, allowed  bool
	}{
		{"internal/plan", module + "/internal/traverse", false, true},
		{"internal/plan", module + "/internal/gpu/pipeline", false, false},
		{"internal/traverse", module + "/internal/plan", false, false},
		{"internal/traverse", module + "/internal/plan", true, false},
		{"internal/segment", module + "/internal/postings", false, true},
		{"internal/postings", module + "/internal/segment", false, false},
		{"internal/topk", module + "/internal/score", false, false},
		{"internal/topk", module + "/internal/score", true, true},
		{"internal/segment", module + "/codec/codectest", false, false},
		{"internal/segment", module + "/codec/codectest", true, true},
		{"internal/index", module + "/internal/shareddata", false, false},
		{"internal/server", module, false, true},
		{"internal/server", "unsafe", false, false},
		{"internal/base", "C", false, false},
		{"internal/base", "fmt", false, true},
		{"internal/base", module + "/internal/nowhere", false, false},
	} {
		if msg := checkImport(c.from, c.imported, c.test); (msg == "") != c.allowed {
			t.Errorf("checkImport(%s, %s, test=%t) = %q, want allowed=%t", c.from, c.imported, c.test, msg, c.allowed)
		}
	}
}
