package pipeline

import (
	"fmt"
)

// Path is the method of answering a query.
type Path uint8

const (
	// PathAuto selects images for batches that fit or nearly fit (crowd), and for queries whose missing images have room
	// (Located.ImageRoom); else compressed lists if possible.
	PathAuto Path = iota
	// PathImages uploads missing images, with evictions if necessary.
	PathImages
	// PathPacked answers from compressed lists, not copied to the device (package
	// packedsearch), or by images for lists that packedsearch cannot read (impacts, codecs
	// other than simdbp) and with several devices.
	PathPacked
	// PathBands answers the queries of a batch together, in bands of documents whose images fit (imagesearch.Pass), or by
	// images where a pass cannot.
	PathBands
)

func (p Path) String() string {
	if p <= PathBands {
		return [...]string{"auto", "images", "packed", "bands"}[p]
	}
	return fmt.Sprintf("Path(%d)", uint8(p))
}

// Located describes the forms of a query's lists and the bytes, in compressed sizes, that a run
// would move; with several devices, on the worst of them.
type Located struct {
	// Forms is the fastest form of each list, by leg as in Query.Legs (FormImage without a
	// list), Compressed the fastest compressed form, for packed runs and Intersect. Their
	// memory is reused.
	Forms      []Form
	Compressed []Form
	// BytesImage is the size of the lists without an image. ImageRoom reports whether these fit
	// without evictions and leave some memory free (residency.Device.Room).
	BytesImage int64
	ImageRoom  bool
	// BytesHost is the size of the lists that are not compressed on the device, the upper bound
	// of a packed run's bus reads; BytesFile of the ones only in the index's file.
	BytesHost int64
	BytesFile int64
	// Packed reports whether packed runs and Intersect can answer the query.
	Packed bool
	// Path is the choice of PathAuto for a single query.
	Path Path
}

// Locate fills l. It holds a lock only for look-ups and allocates nothing if l has served a
// query of the same size. Concurrent runs may change the result at any time.
func (v *View) Locate(q *Query, l *Located) {
	*l = Located{Forms: l.Forms[:0], Compressed: l.Compressed[:0], ImageRoom: true, Packed: q.NumTerms > 0 && len(q.Legs) == q.NumTerms*len(v.segments)}
	for range q.Legs {
		l.Forms, l.Compressed = append(l.Forms, FormImage), append(l.Compressed, FormImage)
	}
	if !l.Packed || v.engine.Lost() != nil {
		l.Packed = false
		return
	}
	t := q.terms()
	for i := range v.engine.devices {
		one := v.locate(i, q, l)
		l.BytesImage, l.ImageRoom = max(l.BytesImage, one.BytesImage), l.ImageRoom && one.ImageRoom
		l.BytesHost, l.BytesFile = max(l.BytesHost, one.BytesHost), max(l.BytesFile, one.BytesFile)
		l.Packed = l.Packed && v.readsPacked(i, &t, q.K)
	}
	l.Path = l.path(q.Path)
}

// HasImages reports whether all lists of a query have images on every device. It is faster than
// Locate.
func (v *View) HasImages(q *Query) bool {
	if q.NumTerms == 0 || len(q.Legs) != q.NumTerms*len(v.segments) || v.engine.Lost() != nil {
		return false
	}
	for i, d := range v.engine.devices {
		for s := range v.targets[i] {
			p := v.targets[i][s].shard
			legs := q.Legs[s*q.NumTerms : (s+1)*q.NumTerms]
			if p == nil || q.lacksTerms(s) {
				continue
			}
			for j := range legs {
				if leg := &legs[j]; leg.DocFreq() > 0 && !d.HasImage(p, leg) {
					return false
				}
			}
		}
	}
	return true
}

// locate is Locate for one device, without Packed and Path, and lowers the forms of worst.
func (v *View) locate(device int, q *Query, worst *Located) Located {
	var l Located
	d := v.engine.devices[device]
	room := d.Room() // minus the missing images
	for s := range v.targets[device] {
		p := v.targets[device][s].shard
		legs := q.Legs[s*q.NumTerms : (s+1)*q.NumTerms]
		if p == nil || q.lacksTerms(s) {
			continue
		}
		for j := range legs {
			leg := &legs[j]
			if leg.DocFreq() == 0 {
				continue
			}
			image, compressed := d.FormsOf(p, leg)
			at := s*q.NumTerms + j
			worst.Compressed[at] = min(worst.Compressed[at], compressed)
			if !image {
				worst.Forms[at] = min(worst.Forms[at], compressed)
				l.BytesImage += leg.SizeBytes()
				if room >= 0 {
					room -= v.imageBytes(device, s, leg)
				}
			}
			switch compressed {
			case FormFile:
				l.BytesFile += leg.SizeBytes()
				l.BytesHost += leg.SizeBytes()
			case FormHost:
				l.BytesHost += leg.SizeBytes()
			}
		}
	}
	l.ImageRoom = l.BytesImage == 0 || room >= 0
	return l
}

// asked is the query's Path.
func (l *Located) path(asked Path) Path {
	switch {
	case !l.Packed || asked == PathImages:
		return PathImages
	case asked == PathPacked:
		return PathPacked
	case l.ImageRoom:
		return PathImages
	}
	return PathPacked
}
