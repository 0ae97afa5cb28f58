package main

import (
	"context"
	"reflect"
	"time"

	"github.com/cosmos72/gomacro/imports"
)

// replaceWaits lets notebooks import, in the place of some functions of the standard library,
// ones that an interrupt of the cell ends: context.Background is the context of whichever cell
// runs, and time.Sleep wakes up.
func (s *session) replaceWaits() {
	imports.Packages["context"].Binds["Background"] = reflect.ValueOf(s.context)
	imports.Packages["context"].Binds["TODO"] = reflect.ValueOf(s.context)
	imports.Packages["time"].Binds["Sleep"] = reflect.ValueOf(s.sleep)
}

// cellContext ends when the running cell is interrupted. In the next cell it is as new, so that
// a variable may hold it.
type cellContext struct{ s *session }

func (c cellContext) Deadline() (time.Time, bool) { return time.Time{}, false }

func (c cellContext) Value(any) any { return nil }

func (c cellContext) Done() <-chan struct{} {
	c.s.lock.Lock()
	defer c.s.lock.Unlock()
	return c.s.done
}

func (c cellContext) Err() error {
	c.s.lock.Lock()
	defer c.s.lock.Unlock()
	if c.s.done != nil && c.s.interrupted {
		return context.Canceled
	}
	return nil
}

// AfterFunc lets package context derive contexts without a goroutine of each, which would come
// to ask for Err when the next cell runs.
func (c cellContext) AfterFunc(f func()) (stop func() bool) {
	c.s.lock.Lock()
	defer c.s.lock.Unlock()
	c.s.afterwards[&f] = true
	return func() bool {
		c.s.lock.Lock()
		defer c.s.lock.Unlock()
		defer delete(c.s.afterwards, &f)
		return c.s.afterwards[&f]
	}
}

// callContexts ends the contexts that are derived from the cell's. The cell does not end before.
// The caller holds the lock.
func (s *session) callContexts() {
	for f := range s.afterwards {
		s.calls.Go(*f)
	}
	clear(s.afterwards)
}

func (s *session) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.context().Done():
	}
}
