package footprint

import (
	"os"
	"slices"
	"testing"
)

func TestAvailable(t *testing.T) {
	meminfo := "MemTotal:       16000 kB\nMemFree:  100 kB\nMemAvailable:    8000 kB\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing", nil, fallbackMemory},
		{"no available memory", map[string]string{"/proc/meminfo": "MemTotal: 16000 kB\n"}, fallbackMemory},
		{"system", map[string]string{"/proc/meminfo": meminfo}, 8000 << 10},
		{"no limit", map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "max\n", "/sys/fs/cgroup/memory.current": "5\n"}, 8000 << 10},
		{"group", map[string]string{
			"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "4096000\n", "/sys/fs/cgroup/memory.current": "3096000\n",
			"/sys/fs/cgroup/memory.stat": "anon 5\nactive_file 7\ninactive_file 96000\n",
		}, 1096000},
		{"group is full", map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "4096\n", "/sys/fs/cgroup/memory.current": "5000\n"}, 0},
		{"old group", map[string]string{
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "4096000\n", "/sys/fs/cgroup/memory/memory.usage_in_bytes": "1000000\n",
			"/sys/fs/cgroup/memory/memory.stat": "total_inactive_file 4000\n",
		}, 3100000},
		{"group within others", map[string]string{
			"/proc/meminfo": meminfo, "/proc/self/cgroup": "0::/user.slice/search.service/one\n",
			"/sys/fs/cgroup/user.slice/search.service/one/memory.max": "max\n", "/sys/fs/cgroup/user.slice/search.service/one/memory.current": "1\n",
			"/sys/fs/cgroup/user.slice/search.service/memory.max": "4096000\n", "/sys/fs/cgroup/user.slice/search.service/memory.current": "1096000\n",
			"/sys/fs/cgroup/user.slice/memory.max": "7000000\n", "/sys/fs/cgroup/user.slice/memory.current": "2000000\n",
		}, 3000000},
		{"old group within another", map[string]string{
			"/proc/self/cgroup": "5:cpu,cpuacct:/a\n4:memory:/jobs/7\n1:name=systemd:/b\n",
			"/sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes": "2000000\n", "/sys/fs/cgroup/memory/jobs/7/memory.usage_in_bytes": "500000\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "/sys/fs/cgroup/memory/memory.usage_in_bytes": "600000\n",
		}, 1500000},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := available(func(name string) ([]byte, error) {
				if text, ok := c.files[name]; ok {
					return []byte(text), nil
				}
				return nil, os.ErrNotExist
			})
			if got != c.want {
				t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
			}
		})
	}
}

// The text of a file that cannot be read to its end does not count.
func TestAvailableOfUnreadableFiles(t *testing.T) {
	for _, c := range []struct {
		unreadable, meminfo string
		want                int64
	}{
		{"", "MemAvailable: 8000000 kB\n", 5_000_000_000 - 100},
		{"/proc/meminfo", "MemAvailable: 8000 kB\n", 5_000_000_000 - 100},
		{"/sys/fs/cgroup/memory.stat", "MemAvailable: 8000000 kB\n", 5_000_000_000 - 1000},
	} {
		files := map[string]string{
			"/proc/meminfo": c.meminfo, "/sys/fs/cgroup/memory.max": "5000000000\n", "/sys/fs/cgroup/memory.current": "1000\n",
			"/sys/fs/cgroup/memory.stat": "inactive_file 900\n",
		}
		got := available(func(name string) ([]byte, error) {
			text, ok := files[name]
			if !ok || name == c.unreadable {
				return []byte(text), os.ErrPermission
			}
			return []byte(text), nil
		})
		if got != c.want {
			t.Errorf("%q is unreadable: %d bytes, want %d", c.unreadable, got, c.want)
		}
	}
}

// Lines of other controllers and lines without a path name no group of the memory.
func TestGroups(t *testing.T) {
	text := "nonsense\n5:cpu:/a\n4:cpu,memory:/jobs/7\n0::/u/v\n"
	version2, version1 := groups(func(string) ([]byte, error) { return []byte(text), nil })
	if want := []string{"/sys/fs/cgroup", "/sys/fs/cgroup/u/v", "/sys/fs/cgroup/u"}; !slices.Equal(version2, want) {
		t.Errorf("version 2: %q, want %q", version2, want)
	}
	if want := []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/jobs/7", "/sys/fs/cgroup/memory/jobs"}; !slices.Equal(version1, want) {
		t.Errorf("version 1: %q, want %q", version1, want)
	}
	version2, version1 = groups(func(string) ([]byte, error) { return []byte(text), os.ErrPermission })
	if len(version2) != 1 || len(version1) != 1 {
		t.Errorf("unreadable file: groups %q, %q", version2, version1)
	}
}

func TestFieldWithoutNumber(t *testing.T) {
	for text, want := range map[string]int64{"A: 5 kB\n": 5, "A:\n": 0, "A: x\n": 0, "B: 1\n": 0} {
		if n, ok := field([]byte(text), "A:"); n != want || ok != (want > 0) {
			t.Errorf("%q: %d, %t", text, n, ok)
		}
	}
	if _, ok := number(func(string) ([]byte, error) { return []byte("5"), os.ErrPermission }, "x"); ok {
		t.Error("a number of an unreadable file")
	}
}
