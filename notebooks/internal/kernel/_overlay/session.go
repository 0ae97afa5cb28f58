package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"time"

	interp "github.com/cosmos72/gomacro/fast"
)

// session is what the kernel knows of a notebook besides its variables: the text of the cells
// that have run, and whether the one that runs shall stop.
type session struct {
	ir       *interp.Interp
	cells    map[string][]string // lines of a cell, by its name
	cell     string              // the name of the newest
	requests <-chan msgReceipt   // of the shell socket
	waiting  []msgReceipt        // of them: came before a cell failed
	failed   bool                // the running cell, or the newest

	lock        sync.Mutex
	done        chan struct{}    // closed when the running cell is to stop; nil: none runs
	interrupted bool             // the running cell, or the newest
	afterwards  map[*func()]bool // what contexts want to be called then
	calls       sync.WaitGroup   // of them
}

func newSession(ir *interp.Interp) *session {
	s := &session{ir: ir, cells: map[string][]string{}, afterwards: map[*func()]bool{}}
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
	s.done, s.interrupted, s.failed = make(chan struct{}), false, false
	s.lock.Unlock()
	defer func() {
		s.calls.Wait()
		s.lock.Lock()
		s.done = nil
		s.lock.Unlock()
	}()
	cell()
}

// interrupt stops the running cell: code of the notebook at its next statement, and functions
// that wait for the cell's context. Where no cell runs, it does nothing.
func (s *session) interrupt() {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.done == nil {
		return
	}
	if !s.interrupted {
		s.interrupted = true
		close(s.done)
		s.callContexts()
		done := s.done
		stderr := os.Stderr // the cell's
		time.AfterFunc(patience, func() { s.sayThatItWaits(done, stderr) })
	}
	s.ir.Interrupt(os.Interrupt)
}

// patience is how long an interrupted cell may run on before the kernel says why it does.
const patience = 2 * time.Second

func (s *session) sayThatItWaits(done chan struct{}, stderr *os.File) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.done != done {
		return
	}
	if _, err := fmt.Fprintln(stderr, "The cell stops when the function returns that is running. To stop it now, restart the kernel: all variables are lost then."); err != nil {
		log.Printf("notebook kernel: %v", err)
	}
}

// stopped tells whether the running cell, or the newest, has been interrupted.
func (s *session) stopped() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.interrupted
}

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
