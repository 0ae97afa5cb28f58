package main

import (
	"bytes"
	"io"
	"os"
	"sync/atomic"
)

// stdout sends what a cell prints to Jupyter, and can wait until all has been sent: what is
// displayed next shall stand below it.
type stdout struct {
	into    io.Writer
	pipe    *os.File // what the cell prints into; the other end is copied to Write
	waiting atomic.Bool
	sent    chan struct{}
}

func newStdout(into io.Writer, pipe *os.File) *stdout {
	return &stdout{into: into, pipe: pipe, sent: make(chan struct{}, 1)}
}

// Write sends text. While flush waits, a zero byte is its mark.
func (s *stdout) Write(text []byte) (int, error) {
	rest := text
	if at := bytes.IndexByte(text, 0); at >= 0 && s.waiting.CompareAndSwap(true, false) {
		if at > 0 {
			if _, err := s.into.Write(text[:at]); err != nil {
				return 0, err
			}
		}
		s.sent <- struct{}{}
		rest = text[at+1:]
	}
	if len(rest) > 0 {
		if _, err := s.into.Write(rest); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}

// flush waits until what has been printed is sent. One caller waits at a time.
func (s *stdout) flush() {
	s.waiting.Store(true)
	if _, err := s.pipe.Write([]byte{0}); err != nil {
		s.waiting.Store(false) // the cell has closed it
		return
	}
	<-s.sent
}
