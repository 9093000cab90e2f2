package vfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/invariant"
)

func mapTemp(t *testing.T, n int) (*Mapping, string) {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		t.Skip("files are not mapped on this system")
	}
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, n), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := OS.Map(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m, name
}

func sum(m *Mapping) (total int, err error) {
	defer RecoverFault(PanicOnFault(), &err)
	defer m.Close() // runs before RecoverFault
	for _, b := range m.Bytes() {
		total += int(b)
	}
	return total, nil
}

func TestRecoverFault(t *testing.T) {
	const n = 3 << 16
	for _, test := range []struct {
		name string
		do   func(t *testing.T, name string)
		want string // in the error, after the name
	}{
		{
			"truncated", func(t *testing.T, name string) { must(t, os.Truncate(name, 0)) },
			fmt.Sprintf(": byte 0 cannot be read: it was truncated from %d to 0 bytes while it was in use", n),
		},
		{
			"truncated in the middle", func(t *testing.T, name string) { must(t, os.Truncate(name, 1<<16)) },
			fmt.Sprintf(": byte 65536 cannot be read: it was truncated from %d to 65536 bytes", n),
		},
		{
			"truncated and removed", func(t *testing.T, name string) { must(t, errors.Join(os.Truncate(name, 0), os.Remove(name))) },
			": byte 0 cannot be read: it was removed and truncated",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, name := mapTemp(t, n)
			test.do(t, name)
			_, err := sum(m)
			if !errors.Is(err, base.ErrCorrupt) || !strings.HasPrefix(fmt.Sprint(err), name+test.want) {
				t.Errorf("error %v, want %s%s", err, name, test.want)
			}
		})
	}
	t.Run("unchanged", func(t *testing.T) {
		m, _ := mapTemp(t, n)
		if _, err := sum(m); err != nil {
			t.Error(err)
		}
	})
	t.Run("in a group", func(t *testing.T) {
		m, name := mapTemp(t, n)
		must(t, os.Truncate(name, 0))
		err := func() (err error) {
			defer RecoverFault(PanicOnFault(), &err)
			var g invariant.Group
			dst := make([]byte, n)
			g.Go(func() { copy(dst, m.Bytes()) })
			g.Wait()
			return nil
		}()
		if !errors.Is(err, base.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), name) {
			t.Errorf("error %v, want ErrCorrupt that names %s", err, name)
		}
	})
}

func TestRecoverFaultPassesBugs(t *testing.T) {
	bug := errors.New("a bug")
	defer func() {
		if value := recover(); value != bug { //nolint:errorlint // a recovered value
			t.Errorf("panic %v, want the bug", value)
		}
		if PanicOnFault() {
			t.Error("the goroutine still panics on faults")
		}
	}()
	var err error
	defer RecoverFault(PanicOnFault(), &err)
	panic(bug)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
