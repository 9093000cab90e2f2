package pipeline

import "fmt"

// Form is how a posting list lies where a device reads it, the slowest first.
type Form uint8

// The forms. A list may have several; Locate tells the fastest.
const (
	// FormFile is compressed in the index's file: it has to be copied before a device
	// can read it.
	FormFile Form = iota
	// FormHost is compressed in page-locked memory of the host, which kernels read over
	// the bus.
	FormHost
	// FormDevice is compressed in the device's memory.
	FormDevice
	// FormImage is an image of package fastpath in the device's memory.
	FormImage
	numForms
)

// String returns the name of the form: "file", "host", "device" or "image".
func (f Form) String() string {
	if f < numForms {
		return [...]string{"file", "host", "device", "image"}[f]
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

// Path is how a query is answered.
type Path uint8

// The paths.
const (
	// PathAuto takes images where those that are missing have room (Located.ImageRoom),
	// and for batches; else the compressed lists, if the query allows it.
	PathAuto Path = iota
	// PathImages brings the images that are missing, in the place of others if need be.
	PathImages
	// PathDirect answers from compressed lists where they lie (package direct). Queries
	// that it cannot answer go by images all the same: those of lists of another codec
	// than simdbp or of impacts, and all where several devices share the segments.
	PathDirect
)

// String returns the name of the path: "auto", "images" or "direct".
func (p Path) String() string {
	if p <= PathDirect {
		return [...]string{"auto", "images", "direct"}[p]
	}
	return fmt.Sprintf("Path(%d)", uint8(p))
}

// Located says where the lists of a query are, and what it would take to run it now.
// Sizes are those of compressed lists. Where there are several devices, it is the
// worst of them that counts.
type Located struct {
	// Forms has the fastest form of each list, by leg as Query.Legs; FormImage of legs
	// without a list. Compressed has that of the compressed list, which is what direct
	// runs and Intersect read: an image is of no use to them. Their memory is used again.
	Forms      []Form
	Compressed []Form
	// BytesImage is what a run by images brings: the lists that have none. ImageRoom
	// says that all of these images have room without others having to go, and some is left.
	BytesImage int64
	ImageRoom  bool
	// BytesHost is what a direct run reads over the bus, if it needs all blocks: the
	// lists that are not on the device in compressed form. BytesFile of them have to be
	// copied to page-locked memory first.
	BytesHost int64
	BytesFile int64
	// Direct says that the query can be answered from compressed lists, and by Intersect.
	Direct bool
	// Path is what PathAuto takes for a query on its own.
	Path Path
}

// Locate says where the lists of a query lie now and what running it would move. It
// takes no lock for longer than a look-up, and allocates nothing once l has served a
// query as large. It may be called while others run; they change what is there.
func (v *View) Locate(q *Query, l *Located) {
	*l = Located{Forms: l.Forms[:0], Compressed: l.Compressed[:0], ImageRoom: true, Direct: q.NumTerms > 0 && len(q.Legs) == q.NumTerms*len(v.segments)}
	for range q.Legs {
		l.Forms, l.Compressed = append(l.Forms, FormImage), append(l.Compressed, FormImage)
	}
	if !l.Direct || v.engine.Lost() != nil {
		l.Direct = false
		return
	}
	t := q.terms()
	for i := range v.engine.devices {
		one := v.locate(i, q, l)
		l.BytesImage, l.ImageRoom = max(l.BytesImage, one.BytesImage), l.ImageRoom && one.ImageRoom
		l.BytesHost, l.BytesFile = max(l.BytesHost, one.BytesHost), max(l.BytesFile, one.BytesFile)
		l.Direct = l.Direct && v.directly(i, &t, q.K)
	}
	l.Path = l.path(q.Path, 1)
}

// HasImages reports whether all lists of a query have images, on every device that needs
// them. It is Locate for who does not ask about compressed lists, in less time.
func (v *View) HasImages(q *Query) bool {
	if q.NumTerms == 0 || len(q.Legs) != q.NumTerms*len(v.segments) || v.engine.Lost() != nil {
		return false
	}
	for i, d := range v.engine.devices {
		for s := range v.pieces[i] {
			p := v.pieces[i][s].part
			legs := q.Legs[s*q.NumTerms : (s+1)*q.NumTerms]
			if p == nil || q.Conjunctive && lacksOne(legs) {
				continue
			}
			for j := range legs {
				if leg := &legs[j]; leg.DocFreq > 0 && !d.records.ofLeg(leg, p.id).there(kindImage) {
					return false
				}
			}
		}
	}
	return true
}

// locate is Locate for a device, but for Direct and Path; of the forms of worst it makes
// the worst.
func (v *View) locate(device int, q *Query, worst *Located) Located {
	var l Located
	d := v.engine.devices[device]
	room := d.room() // less the images that are missing
	for s := range v.pieces[device] {
		p := v.pieces[device][s].part
		legs := q.Legs[s*q.NumTerms : (s+1)*q.NumTerms]
		if p == nil || q.Conjunctive && lacksOne(legs) {
			continue
		}
		for j := range legs {
			leg := &legs[j]
			if leg.DocFreq == 0 {
				continue
			}
			known := d.records.ofLeg(leg, p.id)
			compressed, at := known.compressed(), s*q.NumTerms+j
			worst.Compressed[at] = min(worst.Compressed[at], compressed)
			if !known.there(kindImage) {
				worst.Forms[at] = min(worst.Forms[at], compressed)
				l.BytesImage += leg.sizeBytes()
				if room >= 0 {
					room -= v.imageBytes(device, s, leg)
				}
			}
			switch compressed {
			case FormFile:
				l.BytesFile += leg.sizeBytes()
				l.BytesHost += leg.sizeBytes()
			case FormHost:
				l.BytesHost += leg.sizeBytes()
			}
		}
	}
	l.ImageRoom = l.BytesImage == 0 || room >= 0
	return l
}

// sizeBytes is what the list takes in the index's file, or goes over the bus if it is
// one of impacts.
func (l *Leg) sizeBytes() int64 {
	if l.List == nil {
		return 8 * int64(l.DocFreq)
	}
	return int64(l.List.Length)
}

// path returns how one of so many queries is answered that asks for a path.
func (l *Located) path(asked Path, queries int) Path {
	switch {
	case !l.Direct || asked == PathImages:
		return PathImages
	case asked == PathDirect:
		return PathDirect
	case l.BytesImage == 0 || l.ImageRoom || queries > fewQueries:
		return PathImages
	}
	return PathDirect
}
