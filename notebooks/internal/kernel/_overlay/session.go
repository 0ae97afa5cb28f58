package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	interp "github.com/cosmos72/gomacro/fast"
)

// session is what the kernel knows of a notebook besides its variables: the text of the cells
// that have run, and whether the one that runs shall stop.
type session struct {
	ir       *interp.Interp
	cells    map[string][]string // lines of a cell, by its name
	cell     string              // the name of the newest
	requests <-chan msgReceipt   // of the shell socket
	waiting  int                 // of them: came before the running cell, or the newest, failed

	lock    sync.Mutex
	running bool            // a cell
	ctx     context.Context // ends when a cell is interrupted; the next cell has another
	cancel  context.CancelFunc
}

func newSession(ir *interp.Interp) *session {
	s := &session{ir: ir, cells: map[string][]string{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.replaceWaits()
	return s
}

// open takes note of a cell's text before it is compiled.
func (s *session) open(number int, code string) {
	s.cell = fmt.Sprintf("cell %d", number)
	s.cells[s.cell] = strings.Split(code, "\n")
	s.ir.Comp.Filepath, s.ir.Comp.Pos = s.cell, 0
}

// run runs a cell, which can be interrupted meanwhile.
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

// interrupt stops the running cell: code of the notebook at its next statement, and functions
// that wait for the cell's context. Where no cell runs, it does nothing.
func (s *session) interrupt() {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.running {
		s.cancel()
		s.ir.Interrupt(os.Interrupt)
	}
}

// current is the context of the running cell, or of the newest.
func (s *session) current() context.Context {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.ctx
}

// stopped tells whether the running cell, or the newest, has been interrupted.
func (s *session) stopped() bool { return s.current().Err() != nil }

// context returns one that ends when the cell that runs is interrupted.
func (s *session) context() context.Context { return cellContext{s} }

// display returns the function Display of a cell: it shows data, or, where the data's display_id
// has been shown by this cell before, changes what is shown. In an interrupted cell it fails.
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
