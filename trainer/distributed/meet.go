package distributed

import (
	"bytes"
	"encoding/binary"
	"os"

	"github.com/pkg/errors"
)

// identity is how many bytes a rank tells about itself: its process id in 8 bytes, and its host.
const identity = 128

// meet exchanges the ranks' process ids and hosts.
func (g *Group) meet() error {
	all := make([]byte, g.size*identity)
	pieces := Split(all, g.size)
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	binary.LittleEndian.PutUint64(pieces[g.rank].Data, uint64(os.Getpid()))
	copy(pieces[g.rank].Data[8:], host)
	op := allGather(g, "start of the job", pieces)
	op.finish = func() {
		for r, p := range pieces {
			g.peers[r].pid = int(binary.LittleEndian.Uint64(p.Data))
			g.peers[r].host = string(bytes.TrimRight(p.Data[8:], "\x00"))
		}
	}
	return errors.Wrapf(g.start(nil, op).Wait(), "waiting for the %d ranks of the job", g.size)
}
