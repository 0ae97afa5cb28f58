package main

import (
	"log"
	"os"
	"os/signal"
)

// serve answers requests in the order in which they arrive, and does not return. Requests on the
// control socket, such as an interrupt, are answered while a cell runs.
func (kernel *Kernel) serve(sockets SocketGroup) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	go func() {
		for range signals {
			kernel.session.interrupt()
		}
	}()

	control := sockets
	control.ShellSocket = sockets.ControlSocket // replies go to the socket of the request
	go func() {
		for receipt := range receive(control) {
			kernel.handleShellMsg(receipt)
		}
	}()

	kernel.session.requests = receive(sockets)
	for receipt := range kernel.session.requests { // in this goroutine, which owns the interpreter
		kernel.answer(receipt)
	}
}

// answer answers a request. If it is to run a cell, and the cell fails, cells requested before the
// failure do not run.
func (kernel *Kernel) answer(receipt msgReceipt) {
	if receipt.Msg.Header.MsgType != "execute_request" {
		kernel.handleShellMsg(receipt)
		return
	}
	s := kernel.session
	s.run(func() { kernel.handleShellMsg(receipt) })
	if !receipt.stopsOnError() {
		return
	}
	for range s.waiting {
		receipt := <-s.requests
		if receipt.Msg.Header.MsgType == "execute_request" {
			receipt.abort()
		} else {
			kernel.handleShellMsg(receipt)
		}
	}
}

// receive returns the requests of the shell socket.
func receive(sockets SocketGroup) <-chan msgReceipt {
	requests := make(chan msgReceipt, 1000)
	go func() {
		for {
			wire, err := sockets.ShellSocket.Socket.Recv()
			if err != nil {
				log.Println(err)
				continue
			}
			message, identities, err := WireMsgToComposedMsg(wire.Frames, sockets.Key)
			if err != nil {
				log.Println(err)
				continue
			}
			requests <- msgReceipt{message, identities, sockets}
		}
	}()
	return requests
}

// stopsOnError tells whether waiting cells are to be skipped if this one fails.
func (receipt *msgReceipt) stopsOnError() bool {
	content, _ := receipt.Msg.Content.(map[string]interface{})
	stop, there := content["stop_on_error"].(bool)
	return stop || !there
}

// noteFailure records how many requests arrived before a cell was reported to have failed.
func (s *session) noteFailure() { s.waiting = len(s.requests) }

// abort answers that a cell does not run.
func (receipt *msgReceipt) abort() {
	for _, err := range []error{
		receipt.PublishKernelStatus(kernelBusy),
		receipt.Reply("execute_reply", map[string]any{"status": "aborted", "execution_count": ExecCounter}),
		receipt.PublishKernelStatus(kernelIdle),
	} {
		if err != nil {
			log.Println(err)
		}
	}
}

// answerInterrupt interrupts the running cell.
func (kernel *Kernel) answerInterrupt(receipt msgReceipt) {
	kernel.session.interrupt()
	if err := receipt.Reply("interrupt_reply", map[string]any{"status": "ok"}); err != nil {
		log.Println(err)
	}
}
