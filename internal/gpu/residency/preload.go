package residency

import "github.com/griffin-search/griffin/internal/vfs"

// Action selects the form in which Warm loads a list.
type Action uint8

const (
	// UploadImage uploads the list's image.
	UploadImage Action = iota
	// LockList copies the compressed list to page-locked memory.
	LockList
	// LockAndPack also copies the compressed list to the device.
	LockAndPack
	// LockAndPackDirectory is LockList and copies the directory to the device.
	LockAndPackDirectory
)

// Warm loads a leg's list as a specifies, without evictions, and reports whether it is on the
// device.
func (u *Uploader) Warm(p *Shard, s *Segment, leg *Leg, a Action) (there bool, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	if a == UploadImage {
		e, _, err := u.uploadImage(p, s, leg, ifFree)
		if err != nil {
			return false, err
		}
		e.Unpin()
		return true, nil
	}
	if _, decodable := decodes(leg); !decodable && !u.d.ReadsPacked(p, leg) {
		return false, nil // neither kernels nor uploaders read it from page-locked memory
	}
	payload, directory := leg.List.Raw()
	if err := checkDirectory(len(payload), directory); err != nil {
		return false, err
	}
	host := u.d.lockList(leg.key(p.id).of(kindHost), leg.term(), payload, directory, ifFree)
	switch {
	case host == nil && a == LockAndPack:
		e, err := u.uploadPacked(p, leg, ifFree)
		if err != nil {
			return false, err
		}
		e.Unpin()
		return true, nil
	case host == nil:
		return false, ErrNoRoom
	}
	defer host.Unpin()
	switch a {
	case LockAndPack:
		if err := u.promoteFree(host, leg.DocFreq(), kindPacked); err != nil {
			return false, err
		}
		return u.d.records.ofLeg(leg, p.id).compressed() == FormDevice, nil
	case LockAndPackDirectory:
		err = u.promoteFree(host, leg.DocFreq(), kindDirectory)
	}
	return false, err
}
