//go:build jupyter

package kernel_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"

	"github.com/pkg/errors"
)

// peer is a connection to a socket of a kernel by ZMTP 3.0 (rfc.zeromq.org/spec/23), which carries
// Jupyter's messages.
type peer struct {
	conn net.Conn
	in   *bufio.Reader
}

// Flags of a frame.
const (
	flagMore = 1 << iota
	flagLong
	flagCommand
)

// dial connects a socket of type DEALER or SUB.
func dial(address, socketType string) (*peer, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	p := &peer{conn, bufio.NewReader(conn)}
	greeting := make([]byte, 64)
	greeting[0], greeting[9], greeting[10] = 0xff, 0x7f, 3
	copy(greeting[12:], "NULL")
	if _, err := conn.Write(greeting); err != nil {
		return nil, errors.WithStack(err)
	}
	if _, err := io.ReadFull(p.in, greeting); err != nil {
		return nil, errors.WithStack(err)
	}
	ready := append([]byte("\x05READY"), property("Socket-Type", socketType)...)
	if err := p.writeFrame(flagCommand, append(ready, property("Identity", "")...)); err != nil {
		return nil, err
	}
	if _, _, err := p.readFrame(); err != nil { // its READY
		return nil, err
	}
	if socketType == "SUB" {
		return p, p.writeFrame(0, []byte{1}) // subscribes to all
	}
	return p, nil
}

func property(name, value string) []byte {
	out := append([]byte{byte(len(name))}, name...)
	return append(binary.BigEndian.AppendUint32(out, uint32(len(value))), value...)
}

func (p *peer) writeFrame(flags byte, body []byte) error {
	out := []byte{flags | flagLong}
	out = append(binary.BigEndian.AppendUint64(out, uint64(len(body))), body...)
	_, err := p.conn.Write(out)
	return errors.WithStack(err)
}

func (p *peer) readFrame() (flags byte, body []byte, err error) {
	if flags, err = p.in.ReadByte(); err != nil {
		return 0, nil, errors.WithStack(err)
	}
	size := make([]byte, 8)
	length := size[7:]
	if flags&flagLong != 0 {
		length = size
	}
	if _, err = io.ReadFull(p.in, length); err != nil {
		return 0, nil, errors.WithStack(err)
	}
	body = make([]byte, binary.BigEndian.Uint64(size))
	_, err = io.ReadFull(p.in, body)
	return flags, body, errors.WithStack(err)
}

// send sends a message of several frames.
func (p *peer) send(frames [][]byte) error {
	for i, frame := range frames {
		flags := byte(flagMore)
		if i == len(frames)-1 {
			flags = 0
		}
		if err := p.writeFrame(flags, frame); err != nil {
			return err
		}
	}
	return nil
}

// receive returns the frames of the next message.
func (p *peer) receive() (frames [][]byte, err error) {
	for {
		flags, body, err := p.readFrame()
		if err != nil {
			return nil, err
		}
		if flags&flagCommand != 0 {
			continue
		}
		frames = append(frames, body)
		if flags&flagMore == 0 {
			return frames, nil
		}
	}
}
