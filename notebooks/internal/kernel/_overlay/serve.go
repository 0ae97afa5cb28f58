package main

import (
	"log"
	"os"
	"os/signal"
)

// serve answers requests, in the order in which they come, and does not return. What comes on
// the control socket, such as an interrupt, is answered while a cell runs.
func (kernel *Kernel) serve(sockets SocketGroup) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	go func() {
		for range signals {
			kernel.session.interrupt()
		}
	}()

	control := sockets
	control.ShellSocket = sockets.ControlSocket // replies go where the request came from
	go func() {
		for receipt := range receive(control) {
			kernel.handleShellMsg(receipt)
		}
	}()

	kernel.session.requests = receive(sockets)
	for receipt := range kernel.session.requests { // by this goroutine: the interpreter is its own
		kernel.answer(receipt)
	}
}

// answer answers a request. If it is to run a cell, and that fails, cells that have been asked
// for before it failed do not run.
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

// receive returns what comes on the shell socket.
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

// stopsOnError tells whether cells that wait for this one are not to run if it fails.
func (receipt *msgReceipt) stopsOnError() bool {
	content, _ := receipt.Msg.Content.(map[string]interface{})
	stop, there := content["stop_on_error"].(bool)
	return stop || !there
}

// noteFailure takes note of how many requests have come before a cell is said to have failed.
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
