package process

import (
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// The process has the priority, and the thread that started it has not.
func TestAtOnce(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	permitted := AtOnce(func() { err = cmd.Start() })
	if err != nil {
		t.Fatal(err)
	}
	want := map[bool]uint32{true: unix.SCHED_FIFO, false: unix.SCHED_NORMAL}[permitted]
	if attr, err := unix.SchedGetAttr(cmd.Process.Pid, 0); err != nil || attr.Policy != want {
		t.Errorf("permitted: %t; policy %+v, %v", permitted, attr, err)
	}
	if attr, err := unix.SchedGetAttr(0, 0); err != nil || attr.Policy == unix.SCHED_FIFO {
		t.Errorf("the thread afterwards: %+v, %v", attr, err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}
