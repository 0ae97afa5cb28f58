package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/cosmos72/gomacro/base"
	interp "github.com/cosmos72/gomacro/fast"
)

// session lets a cell be interrupted.
type session struct {
	ir *interp.Interp

	lock    sync.Mutex
	running bool            // a cell runs
	ctx     context.Context // ends when the cell is interrupted; the next cell has another
	cancel  context.CancelFunc
}

func newSession(ir *interp.Interp) *session {
	s := &session{ir: ir}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.replaceWaits()
	return s
}

// begin begins a cell, whose name is in the compiler's messages.
func (s *session) begin(cell int) {
	s.ir.Comp.Filepath = fmt.Sprintf("cell %d", cell)
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.ctx.Err() != nil {
		s.ctx, s.cancel = context.WithCancel(context.Background())
		s.ir.PrepareEnv().Run.Signals.Async = base.SigNone // that the last cell has not noticed
	}
	s.running = true
}

// end ends a cell, given the value of its panic or nil; it returns the cell's error.
func (s *session) end(panicked any) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.running = false
	if s.ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if err, ok := panicked.(error); ok || panicked == nil {
		return err
	}
	return errors.New(fmt.Sprint(panicked))
}

// interrupt stops the running cell: loops of the notebook's code, and functions that wait for the
// cell's context. If no cell runs, it does nothing.
func (s *session) interrupt() {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.running {
		s.cancel()
		s.ir.Interrupt(os.Interrupt)
	}
}

// current returns the context of the running cell, or of the newest.
func (s *session) current() context.Context {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.ctx
}

// context returns a context that ends when the running cell is interrupted.
func (s *session) context() context.Context { return cellContext{s} }

// display returns the function Display for a cell. It shows data; if this cell has shown data with
// the same display_id before, it replaces what is shown. In an interrupted cell it fails.
func (s *session) display(receipt *msgReceipt, out *stdout) func(Data) error {
	var lock sync.Mutex
	shown := map[any]bool{}
	return func(data Data) error {
		lock.Lock()
		defer lock.Unlock()
		if err := s.current().Err(); err != nil {
			return err
		}
		out.flush()
		messageType := "display_data"
		if id, there := data.Transient["display_id"]; there && shown[id] {
			messageType = "update_display_data"
		} else if there {
			shown[id] = true
		}
		return receipt.Publish(messageType, map[string]any{
			"data": data.Data, "metadata": ensure(data.Metadata), "transient": ensure(data.Transient),
		})
	}
}
