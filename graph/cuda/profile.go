//go:build cuda

package cuda

import "gorgonia.org/cu"

// profile measures work by an event after each piece of it. The stream runs the pieces one after
// another, so that each event but the first is both an end and a beginning.
type profile struct {
	on     bool
	events []cu.Event // one more than work; reused by the next profile
	work   []Work
}

var _ Profiler = (*Device)(nil)

// StartProfile makes the device measure its work until StopProfile.
func (d *Device) StartProfile() error {
	d.profile.on, d.profile.work = true, nil
	return d.within(func() error { return d.profile.record(0) })
}

// note puts an event after w, which has just been started. Call Enter first.
func (p *profile) note(w Work) error {
	if !p.on {
		return nil
	}
	p.work = append(p.work, w)
	return p.record(len(p.work))
}

func (p *profile) record(i int) error {
	if i == len(p.events) {
		e, err := cu.NewEvent()
		if err != nil {
			return err
		}
		p.events = append(p.events, e)
	}
	return p.events[i].Record(cu.NoStream)
}

// StopProfile waits for the device and returns what it has done since StartProfile.
func (d *Device) StopProfile() ([]Timing, error) {
	p := &d.profile
	if !p.on {
		return nil, nil
	}
	p.on = false
	if err := p.events[len(p.work)].Synchronize(); err != nil {
		return nil, err
	}
	all := make([]Timing, len(p.work))
	for i, w := range p.work {
		took, err := cu.Elapsed(p.events[i], p.events[i+1])
		if err != nil {
			return nil, err
		}
		all[i] = Timing{w, took}
	}
	return all, nil
}

// free frees the events.
func (p *profile) free() {
	for _, e := range p.events {
		_ = e.Destroy()
	}
	*p = profile{}
}
