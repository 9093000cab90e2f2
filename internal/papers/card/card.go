package card

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/residency"
)

// Open opens the first GPU of a selection such as "gpu", "auto" or "1" (residency.ParseSelection).
// It is nil without an error for "cpu", and for "auto" if no GPU opens. The error wraps
// base.ErrBadInput if the selection cannot be read.
func Open(selection string) (*cuda.Device, error) {
	s, err := residency.ParseSelection(selection)
	if err != nil || s.CPU() {
		return nil, err
	}
	d, err := open(s)
	if err != nil {
		if s.Auto {
			return nil, nil
		}
		return nil, fmt.Errorf("device %s: %w", selection, err)
	}
	return d, nil
}

func open(s residency.Selection) (*cuda.Device, error) {
	library, err := cuda.Load("")
	if err != nil {
		return nil, err
	}
	if len(s.Ordinals) > 0 {
		return library.Open(s.Ordinals[0])
	}
	infos, err := library.Devices()
	if err != nil {
		return nil, err
	}
	errs := []error{errors.New("no GPU can be used")}
	for _, info := range infos {
		if reason := info.Unusable(); reason != "" {
			errs = append(errs, fmt.Errorf("GPU %d: %s", info.Ordinal, reason))
			continue
		}
		d, err := library.Open(info.Ordinal)
		if err == nil {
			return d, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
