package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Process is /proc/PID.
type Process struct{ dir string }

// Self is this process.
func Self() Process { return Process{"/proc/self"} }

// Of is the process with the number.
func Of(pid int) Process { return Process{"/proc/" + strconv.Itoa(pid)} }

// Memory is resident, in bytes.
type Memory struct {
	// All has mapped files, such as segments, and Anonymous has not.
	All       int64 `json:"rss_bytes"`
	Anonymous int64 `json:"anonymous_rss_bytes"`
	// Peak is the highest All.
	Peak int64 `json:"peak_rss_bytes"`
}

// Memory returns the resident memory.
func (p Process) Memory() Memory {
	return Memory{
		All:       p.number("status", "VmRSS:") << 10,
		Anonymous: p.number("status", "RssAnon:") << 10,
		Peak:      p.number("status", "VmHWM:") << 10,
	}
}

// WrittenBytes counts the bytes that the process has sent to the disk, without files that it removed before
// the system wrote them.
func (p Process) WrittenBytes() int64 {
	return p.number("io", "write_bytes:") - p.number("io", "cancelled_write_bytes:")
}

// CPUSeconds is the processor time of the process, in hundredths.
func (p Process) CPUSeconds() float64 {
	data, err := os.ReadFile(p.dir + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), ") ") // after the name: fields from 3 on
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	var user, system float64
	_, _ = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	return (user + system) / 100
}

func (p Process) number(file, key string) (n int64) {
	data, err := os.ReadFile(p.dir + "/" + file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			_, _ = fmt.Sscan(rest, &n)
		}
	}
	return n
}

// Machine is processor time of the whole machine since its start, in seconds.
type Machine struct {
	Busy   float64 // of all processes and the system
	Stolen float64 // that a virtual machine wanted and did not get
}

// MachineTime returns the processor time of the machine.
func MachineTime() Machine {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Machine{}
	}
	var user, nice, system, idle, waiting, interrupts, soft, stolen float64
	_, _ = fmt.Sscanf(string(data), "cpu %f %f %f %f %f %f %f %f", &user, &nice, &system, &idle, &waiting, &interrupts, &soft, &stolen)
	return Machine{Busy: (user + nice + system + interrupts + soft) / 100, Stolen: stolen / 100}
}
