package main

import (
	"bytes"
	"io"
	"os"
	"sync/atomic"
)

// stdout sends what a cell prints to Jupyter, and can wait until everything has been sent, so that
// what is displayed next appears below it.
type stdout struct {
	into    io.Writer
	pipe    *os.File // the cell prints into it; the other end is copied to Write
	waiting atomic.Bool
	sent    chan struct{}
}

func newStdout(into io.Writer, pipe *os.File) *stdout {
	return &stdout{into: into, pipe: pipe, sent: make(chan struct{}, 1)}
}

// Write sends text. While flush waits, a zero byte marks the end.
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

// flush waits until everything printed has been sent. Only one caller may wait at a time.
func (s *stdout) flush() {
	s.waiting.Store(true)
	if _, err := s.pipe.Write([]byte{0}); err != nil {
		s.waiting.Store(false) // the cell has closed it
		return
	}
	<-s.sent
}
