package main

import "log"

// serve answers requests in the order in which they arrive, and does not return. Requests on the
// control socket, such as an interrupt, are answered while a cell runs.
func (kernel *Kernel) serve(sockets SocketGroup) {
	control := sockets
	control.ShellSocket = sockets.ControlSocket // replies go to the socket of the request
	go kernel.answer(control)
	kernel.answer(sockets) // in this goroutine, which owns the interpreter
}

// answer answers the requests of the shell socket.
func (kernel *Kernel) answer(sockets SocketGroup) {
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
		kernel.handleShellMsg(msgReceipt{message, identities, sockets})
	}
}

// answerInterrupt interrupts the running cell.
func (kernel *Kernel) answerInterrupt(receipt msgReceipt) {
	kernel.session.interrupt()
	if err := receipt.Reply("interrupt_reply", map[string]any{"status": "ok"}); err != nil {
		log.Println(err)
	}
}
