package residency

import (
	"errors"
	"os"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

func TestParseHostMemory(t *testing.T) {
	for text, want := range map[string]HostMemory{
		"": {}, "0": {None: true}, "50%": {Memory: Memory{Percent: 50}}, "2GiB": {Memory: Memory{Bytes: 2 << 30}},
	} {
		t.Run(text, func(t *testing.T) {
			if got, err := ParseHostMemory(text); err != nil || got != want {
				t.Errorf("ParseHostMemory(%q) = %+v, %v; want %+v", text, got, err, want)
			}
		})
	}
	for _, text := range []string{"none", "-1", "00%"} {
		if got, err := ParseHostMemory(text); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("ParseHostMemory(%q) = %+v, %v; want ErrBadInput", text, got, err)
		}
	}
}

func TestHostMemoryLimit(t *testing.T) {
	const available, index = 1000, 400
	for _, c := range []struct {
		memory HostMemory
		want   int64
	}{
		{HostMemory{}, 500},
		{HostMemory{None: true}, 0},
		{HostMemory{Memory: Memory{Bytes: 600}}, 600},
		{HostMemory{Memory: Memory{Bytes: 5000}}, 750},
		{HostMemory{Memory: Memory{Percent: 50}}, 200},
		{HostMemory{Memory: Memory{Percent: 900}}, 750},
		{HostMemory{Share: 5}, 100},
		{HostMemory{Memory: Memory{Bytes: 600}, Share: 5}, 150},
	} {
		if got := c.memory.limit(available, index); got != c.want {
			t.Errorf("%+v: limit %d, want %d", c.memory, got, c.want)
		}
	}
}

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
