package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Device is the GPU for experiments, with a stream.
type Device struct {
	*cuda.Device
	Stream *cuda.Stream

	from, to *cuda.Event
}

const noDevice = "Run without a GPU (--device gpu)."

// Device returns the GPU for experiments or, if none was requested, nil and the
// reason for the empty cells. A requested GPU that is unavailable is an error,
// so that a run on a GPU machine leaves no cells empty.
func (env *Env) Device() (*Device, string, error) {
	if env.config.Device == "" || env.config.Device == "cpu" {
		return nil, noDevice, nil
	}
	if env.device == nil {
		d, err := openDevice(env.config.Device)
		if err != nil {
			return nil, "", err
		}
		env.device = d
	}
	env.onDevice = true
	return env.device, "", nil
}

// DeviceName is "gpu" or a number; "" or "cpu" for none.
func (env *Env) DeviceName() string { return env.config.Device }

// openDevice opens a device by name: "gpu" is the first.
func openDevice(name string) (*Device, error) {
	ordinal := 0
	if name != "gpu" {
		n, err := strconv.Atoi(name)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("device %q is not cpu, gpu or the number of a GPU: %w", name, base.ErrBadInput)
		}
		ordinal = n
	}
	library, err := cuda.Load("")
	if err != nil {
		return nil, err
	}
	device, err := library.Open(ordinal)
	if err != nil {
		return nil, err
	}
	d := &Device{Device: device}
	if d.Stream, err = device.NewStream(); err == nil {
		if d.from, err = device.NewEvent(true /* timing */); err == nil {
			d.to, err = device.NewEvent(true /* timing */)
		}
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *Device) close() error {
	var errs []error
	for _, e := range []*cuda.Event{d.from, d.to} {
		if e != nil {
			errs = append(errs, e.Close())
		}
	}
	if d.Stream != nil {
		errs = append(errs, d.Stream.Close())
	}
	return errors.Join(append(errs, d.Device.Close())...)
}

// On returns the device with another stream of it, for Time.
func (d *Device) On(s *cuda.Stream) *Device {
	on := *d
	on.Stream = s
	return &on
}

// Time measures the device time of the work that do enqueues: rounds times
// after a warm-up, each the total of repeat calls.
func (d *Device) Time(ctx context.Context, rounds, repeat int, do func() error) (Timing, error) {
	var timing Timing
	times := make([]int64, 0, rounds)
	for round := range rounds + 1 {
		if ctx.Err() != nil {
			return timing, context.Cause(ctx)
		}
		err := d.Stream.Record(d.from)
		for range repeat {
			if err == nil {
				err = do()
			}
		}
		if err == nil {
			err = d.Stream.Record(d.to)
		}
		if err == nil {
			err = d.to.Synchronize()
		}
		if err != nil {
			return timing, err
		}
		took, err := d.to.Elapsed(d.from)
		if err != nil {
			return timing, err
		}
		if round > 0 {
			times = append(times, took.Nanoseconds())
		}
	}
	slices.Sort(times)
	return timingOf(times), nil
}
