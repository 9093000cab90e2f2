package selftest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Variable names the environment variable of an emulator.
const Variable = "GRIFFIN_TEST_EXEC"

// Command returns a command that runs the test's binary under a name.
func Command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	self := executable(t)
	if words := strings.Fields(os.Getenv(Variable)); len(words) > 0 {
		words = append(words, "-0", name, self)
		return exec.Command(words[0], append(words[1:], args...)...)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = name
	return cmd
}

// Link makes path a program that runs the test's binary under a name.
func Link(t testing.TB, path, name string) {
	t.Helper()
	var err error
	if emulator := os.Getenv(Variable); emulator != "" {
		script := fmt.Sprintf("#!/bin/sh\nexec %s -0 %s %s \"$@\"\n", emulator, quoted(name), quoted(executable(t)))
		err = os.WriteFile(path, []byte(script), 0o700)
	} else {
		err = os.Symlink(executable(t), path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// quoted returns a word of a shell's script.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func executable(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}
