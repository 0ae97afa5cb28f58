package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	interp "github.com/cosmos72/gomacro/fast"
)

// session is what the kernel knows about a notebook in addition to its variables: the text of the
// cells that have run, and whether the running cell is to stop.
type session struct {
	ir       *interp.Interp
	cells    map[string][]string // lines of each cell, by its name
	cell     string              // name of the newest cell
	requests <-chan msgReceipt   // from the shell socket
	waiting  int                 // number of requests that arrived before the running cell, or the newest, failed

	lock    sync.Mutex
	running bool            // a cell runs
	ctx     context.Context // ends when the cell is interrupted; the next cell has another
	cancel  context.CancelFunc
}

func newSession(ir *interp.Interp) *session {
	s := &session{ir: ir, cells: map[string][]string{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.replaceWaits()
	return s
}

// open records a cell's text before it is compiled.
func (s *session) open(number int, code string) {
	s.cell = fmt.Sprintf("cell %d", number)
	s.cells[s.cell] = strings.Split(code, "\n")
	s.ir.Comp.Filepath, s.ir.Comp.Pos = s.cell, 0
}

// run runs a cell, which can be interrupted.
func (s *session) run(cell func()) {
	s.lock.Lock()
	if s.ctx.Err() != nil {
		s.ctx, s.cancel = context.WithCancel(context.Background())
	}
	s.running, s.waiting = true, 0
	s.lock.Unlock()
	cell()
	s.lock.Lock()
	s.running = false
	s.lock.Unlock()
}

// interrupt stops the running cell: the notebook's code at its next statement, and functions that
// wait for the cell's context. If no cell runs, it does nothing.
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

// stopped tells whether the running cell, or the newest, has been interrupted.
func (s *session) stopped() bool { return s.current().Err() != nil }

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
		if s.stopped() {
			return context.Canceled
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
