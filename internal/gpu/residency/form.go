package residency

import "fmt"

// Form is the form of a resident or stored posting list, slowest first.
type Form uint8

// A list may have several forms; Locate reports the fastest.
const (
	// FormFile is compressed in the index's file, which devices cannot read.
	FormFile Form = iota
	// FormHost is compressed in page-locked host memory; kernels read it over the bus.
	FormHost
	// FormDevice is compressed in device memory.
	FormDevice
	// FormImage is an image of package imagesearch in device memory.
	FormImage
	numForms
)

func (f Form) String() string {
	if f < numForms {
		return [...]string{"file", "host", "device", "image"}[f]
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}
