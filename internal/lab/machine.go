package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/simd"
)

func here() Provenance {
	return Provenance{
		CPU:      cost.Processor(),
		Cores:    runtime.GOMAXPROCS(0),
		SIMD:     simd.Current().String(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Go:       runtime.Version(),
		Commit:   commit(),
		Date:     time.Now().UTC().Truncate(time.Second),
	}
}

// load returns the load average of the last minute, 0 if unknown.
func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return v
}

// commit returns the revision of the program, otherwise of the checkout in
// which it runs, otherwise "unknown".
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return checkedOut()
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " with changes"
		}
	}
	if revision == "" {
		return checkedOut()
	}
	return revision + modified
}

func checkedOut() string {
	git := func(args ...string) string {
		out, err := exec.Command("git", args...).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	module, err := os.ReadFile(filepath.Join(git("rev-parse", "--show-toplevel"), "go.mod"))
	revision := git("rev-parse", "--short=12", "HEAD")
	if err != nil || revision == "" || !strings.HasPrefix(string(module), "module github.com/griffin-search/griffin\n") {
		return "unknown"
	}
	if git("status", "--porcelain", "--untracked-files=no") != "" {
		revision += " with changes"
	}
	return revision + ", of the checkout it ran in"
}
