package main

import (
	"reflect"
	"time"

	"github.com/cosmos72/gomacro/imports"
)

// replaceWaits replaces some functions of the standard library for notebooks by versions that an
// interrupt of the cell ends: context.Background returns the context of whichever cell runs, and
// time.Sleep wakes up.
func (s *session) replaceWaits() {
	imports.Packages["context"].Binds["Background"] = reflect.ValueOf(s.context)
	imports.Packages["context"].Binds["TODO"] = reflect.ValueOf(s.context)
	imports.Packages["time"].Binds["Sleep"] = reflect.ValueOf(s.sleep)
}

// cellContext ends when the running cell is interrupted. In the next cell it is usable again, so
// that a variable may hold it.
type cellContext struct{ s *session }

func (c cellContext) Deadline() (time.Time, bool) { return c.s.current().Deadline() }

func (c cellContext) Done() <-chan struct{} { return c.s.current().Done() }

func (c cellContext) Err() error { return c.s.current().Err() }

// Value returns a value of the cell's context. Package context calls it, too, to find the
// context with which derived contexts end.
func (c cellContext) Value(key any) any { return c.s.current().Value(key) }

func (s *session) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.context().Done():
	}
}
