package footprint

import (
	"bytes"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Available returns the system's available memory in bytes, or the remaining memory of a control group if that is less.
func Available() int64 { return available(os.ReadFile) }

// available returns fallbackMemory if no limit can be read.
func available(read func(name string) ([]byte, error)) int64 {
	n := int64(math.MaxInt64)
	if text, err := read("/proc/meminfo"); err == nil {
		if kib, ok := field(text, "MemAvailable:"); ok {
			n = kib << 10
		}
	}
	version2, version1 := groups(read)
	for _, dir := range version2 {
		n = min(n, left(read, dir+"/memory.max", dir+"/memory.current", dir+"/memory.stat", "inactive_file "))
	}
	for _, dir := range version1 {
		n = min(n, left(read, dir+"/memory.limit_in_bytes", dir+"/memory.usage_in_bytes", dir+"/memory.stat", "total_inactive_file "))
	}
	if n == math.MaxInt64 {
		return fallbackMemory
	}
	return n
}

// groups returns the process's control groups and their ancestors, for versions 2 and 1 of the
// kernel interface.
func groups(read func(name string) ([]byte, error)) (version2, version1 []string) {
	const root2, root1 = "/sys/fs/cgroup", "/sys/fs/cgroup/memory"
	version2, version1 = []string{root2}, []string{root1}
	text, err := read("/proc/self/cgroup")
	if err != nil {
		return version2, version1
	}
	for line := range strings.Lines(string(text)) { // number:controllers:path
		_, line, _ = strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		of2, of1 := controllers == "", slices.Contains(strings.Split(controllers, ","), "memory")
		for dir := path.Clean("/" + group); dir != "/"; dir = path.Dir(dir) {
			if of2 {
				version2 = append(version2, root2+dir)
			} else if of1 {
				version1 = append(version1, root1+dir)
			}
		}
	}
	return version2, version1
}

// left returns the bytes that a control group can still allocate, with reclaimable page cache,
// or math.MaxInt64 without a limit.
func left(read func(name string) ([]byte, error), limit, used, stat, reclaimable string) int64 {
	most, ok := number(read, limit)
	if !ok {
		return math.MaxInt64
	}
	taken, _ := number(read, used)
	if text, err := read(stat); err == nil {
		cached, _ := field(text, reclaimable)
		taken -= min(cached, taken)
	}
	return max(most-taken, 0)
}

const fallbackMemory = 2 << 30

func field(text []byte, name string) (int64, bool) {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			words := bytes.Fields(rest)
			if len(words) == 0 {
				return 0, false
			}
			n, err := strconv.ParseInt(string(words[0]), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// number returns false for a file without a number, for example "max".
func number(read func(name string) ([]byte, error), name string) (int64, bool) {
	text, err := read(name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n, err == nil
}
