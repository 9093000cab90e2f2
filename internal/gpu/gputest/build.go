package gputest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// In kernels, the compiler inserts a call before every load and store, and
// where C++ behaviour would be undefined; the emulator implements these calls.
// Kernels are compiled by clang, as for the GPU, for its vectors and
// attributes.
var (
	compilers = []string{"clang++-19", "clang++-20", "clang++-21", "clang++-18", "clang++"}

	bothFlags = []string{
		"-std=c++17", "-O2", "-gline-tables-only", "-fPIC", "-fvisibility=hidden", "-fdeclspec", "-fno-exceptions",
		"-Wall", "-Wextra", "-Werror", "-ffp-contract=off",
	}
	kernelFlags = []string{
		"-DGRIFFIN_EMULATOR", "-fno-vectorize", "-fno-slp-vectorize",
		// Kernels are static functions; not every object uses every one.
		"-Wno-unused-function", "-Wno-unused-const-variable", "-Wno-unused-template",
		"-fsanitize=shift-exponent,array-bounds,integer-divide-by-zero,signed-integer-overflow,alignment,unreachable",
	}
	checkedFlags = []string{
		"-fsanitize=thread", "-mllvm", "-tsan-instrument-func-entry-exit=0",
		"-mllvm", "-tsan-distinguish-volatile=1", "-mllvm", "-tsan-instrument-read-before-write=1",
	}
	addressFlags = []string{"-fsanitize=address"}
)

// BuildVariable is the environment variable that selects the checks of kernels:
// "checked" (the default) or "asan", the address sanitizer, with whose library
// the process must start (.ci/asan). "none" skips the tests that need the
// emulator, where it cannot run (.ci/arm64).
const BuildVariable = "GRIFFIN_EMULATOR"

// variant returns the compiler flags for the emulator's sources and for
// kernels, and the linker flags.
func variant() (own, kernels, link []string, err error) {
	switch how := os.Getenv(BuildVariable); how {
	case "", "checked":
		return bothFlags, slices.Concat(bothFlags, kernelFlags, checkedFlags), []string{"-Wl,-z,defs"}, nil
	case "asan":
		own = slices.Concat(bothFlags, addressFlags)
		return own, slices.Concat(own, kernelFlags), nil, nil
	default:
		return nil, nil, nil, fmt.Errorf("%s=%s: want checked or asan", BuildVariable, how)
	}
}

type unit struct {
	name   string // of the object
	folder string // the kernel package's, or the emulator's
	source string // the compiler's input
	flags  []string
	files  []string // their text and their includes determine the object
	object string
	log    string // compiler errors, or ""
}

// cacheDirectory is in the user's cache, so that checkouts share objects (names contain
// the hash of the sources), otherwise in the checkout.
func cacheDirectory(root string) string {
	if cache, err := os.UserCacheDir(); err == nil {
		return filepath.Join(cache, "griffin-emulator")
	}
	return filepath.Join(root, ".build", "emulator")
}

func moduleRoot(directory string) (string, error) {
	for at := directory; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no go.mod above %s", directory)
		}
	}
}

// buildEmulator returns the path of the library with all kernels, built if
// necessary, by one process at a time. A package whose kernels do not compile
// fails its own tests, and all tests in continuous integration; other packages
// omit it.
func buildEmulator(root, family string) (string, error) {
	compiler, version, err := findCompiler()
	if err != nil {
		return "", err
	}
	directory := cacheDirectory(root)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(filepath.Join(directory, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	own, kernels, link, err := variant()
	if err != nil {
		return "", err
	}
	units, err := findUnits(root, own, kernels)
	if err != nil {
		return "", err
	}
	for _, u := range units {
		if err := u.hash(root, directory, version); err != nil {
			return "", err
		}
	}
	if err := compileAll(root, compiler, units); err != nil {
		return "", err
	}
	sum := sha256.New()
	var objects []string
	for _, u := range units {
		if u.log != "" {
			if u.folder == family || u.folder == "emulator" || os.Getenv("CI") != "" {
				return "", fmt.Errorf("%s does not compile for the host:\n%s", u.name, u.log)
			}
			fmt.Fprintf(os.Stderr, "gputest: without %s, which does not compile for the host\n", u.name)
			continue
		}
		objects = append(objects, u.object)
		sum.Write([]byte(u.object + "\n"))
	}
	library := filepath.Join(directory, "libgriffin-emulator-"+hex.EncodeToString(sum.Sum(nil))[:16]+".so")
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	part := library + ".part"
	arguments := slices.Concat([]string{"-shared", "-o", part}, link, objects)
	if out, err := compilerCommand(compiler, arguments).CombinedOutput(); err != nil {
		return "", fmt.Errorf("linking the emulator: %w\n%s", err, out)
	}
	if err := os.Rename(part, library); err != nil {
		return "", err
	}
	return library, pruneOld(directory) // after linking, which may have used old objects
}

// pruneOld removes files built long ago; one that is still needed is built
// again.
func pruneOld(directory string) error {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && entry.Name() != "lock" && time.Since(info.ModTime()) > 14*24*time.Hour {
			err = os.Remove(filepath.Join(directory, entry.Name()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findCompiler also returns the first line of its version.
func findCompiler() (compiler, version string, err error) {
	names := compilers
	if name := os.Getenv("GRIFFIN_CXX"); name != "" {
		names = []string{name}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			out, err := compilerCommand(path, []string{"--version"}).Output()
			if err != nil {
				return "", "", fmt.Errorf("%s --version: %w", path, err)
			}
			version, _, _ := strings.Cut(string(out), "\n")
			return path, version, nil
		}
	}
	return "", "", fmt.Errorf("no C++ compiler: install clang-19 and g++ (.ci/setup does), or set GRIFFIN_CXX; looked for %s",
		strings.Join(names, ", "))
}

// compilerCommand runs the compiler without this process's LD_PRELOAD.
func compilerCommand(compiler string, arguments []string) *exec.Cmd {
	command := exec.Command(compiler, arguments...)
	command.Env = append(os.Environ(), "LD_PRELOAD=")
	return command
}

// lockFile waits for the lock and returns a function that releases it.
func lockFile(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { f.Close() }, nil // closing releases it
}

func findUnits(root string, ownFlags, kernelFlags []string) ([]*unit, error) {
	gpu := filepath.Join(root, "internal", "gpu")
	own, err := filepath.Glob(filepath.Join(gpu, "emulator", "src", "*.cpp"))
	if err != nil {
		return nil, err
	}
	var kernels []string
	for _, families := range []string{gpu, filepath.Join(root, "internal", "papers")} {
		found, err := filepath.Glob(filepath.Join(families, "*", "*.cu"))
		if err != nil {
			return nil, err
		}
		kernels = append(kernels, found...)
	}
	var units []*unit
	for _, path := range own {
		name := strings.TrimSuffix(filepath.Base(path), ".cpp")
		units = append(units, &unit{
			name: "emulator-" + name, folder: "emulator", flags: ownFlags, files: []string{path},
			source: fmt.Sprintf("#include %q\n", path),
		})
	}
	for _, path := range kernels {
		folder := filepath.Base(filepath.Dir(path))
		stem := strings.TrimSuffix(filepath.Base(path), ".cu")
		device := filepath.Join(gpu, "emulator", "src", "device.hpp")
		// A separate namespace avoids name conflicts between kernels.
		units = append(units, &unit{
			name: folder + "-" + stem, folder: folder, flags: kernelFlags, files: []string{device, path},
			source: fmt.Sprintf("#include %q\nnamespace griffin_%s_%s {\n#include %q\n}\n", device, folder, stem, path),
		})
	}
	return units, nil
}

var includeLine = regexp.MustCompile(`(?m)^\s*#\s*include\s+"([^"]+)"`)

// hash finds the files that the unit includes and names the object by their
// text.
func (u *unit) hash(root, directory, version string) error {
	sum := sha256.New()
	fmt.Fprintln(sum, version, u.flags, strings.ReplaceAll(u.source, root, ""))
	seen := map[string]bool{}
	for queue := u.files; len(queue) > 0; queue = queue[1:] {
		path := filepath.Clean(queue[0])
		if seen[path] {
			continue
		}
		seen[path] = true
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintln(sum, strings.TrimPrefix(path, root), len(text))
		sum.Write(text)
		for _, m := range includeLine.FindAllSubmatch(text, -1) {
			queue = append(queue, filepath.Join(filepath.Dir(path), string(m[1])))
		}
	}
	u.object = filepath.Join(directory, u.name+"-"+hex.EncodeToString(sum.Sum(nil))[:16]+".o")
	return nil
}

// compileAll compiles the missing objects, one per CPU at a time.
func compileAll(root, compiler string, units []*unit) error {
	slots := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	var mutex sync.Mutex
	var failure error
	for _, u := range units {
		if _, err := os.Stat(u.object); err == nil {
			continue
		}
		if log, err := os.ReadFile(u.object + ".log"); err == nil {
			u.log = string(log)
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := u.compile(root, compiler); err != nil {
				mutex.Lock()
				failure = errors.Join(failure, err)
				mutex.Unlock()
			}
		})
	}
	wg.Wait()
	return failure
}

// compile creates the object, or a log of errors.
func (u *unit) compile(root, compiler string) error {
	part := u.object + ".part"
	arguments := slices.Concat(u.flags, []string{"-ffile-prefix-map=" + root + "/=", "-x", "c++", "-c", "-o", part, "-"})
	command := compilerCommand(compiler, arguments)
	command.Stdin = strings.NewReader(u.source)
	command.Dir = root
	out, err := command.CombinedOutput()
	if err == nil {
		return os.Rename(part, u.object)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !exit.Exited() { // the compiler was killed: no verdict
		return fmt.Errorf("compiling %s: %w", u.name, err)
	}
	u.log = string(bytes.TrimSpace(out))
	return os.WriteFile(u.object+".log", []byte(u.log), 0o644)
}
