package distributed

import (
	"sync"

	"github.com/pkg/errors"
)

// Memory returns the transports of n ranks that are goroutines of this process; element r
// belongs to rank r.
func Memory(n int) []Transport {
	job := &memoryJob{lanes: map[lane]*mailbox{}, size: n}
	transports := make([]Transport, n)
	for r := range transports {
		transports[r] = &memory{job: job, rank: r}
	}
	return transports
}

// memoryJob is what the ranks share.
type memoryJob struct {
	mu      sync.Mutex
	size    int
	lanes   map[lane]*mailbox
	aborted error
}

// lane is the path of messages with one sender, receiver and tag, which arrive in order.
type lane struct{ from, to, tag int }

// mailbox holds the messages of a lane that were sent and not received, or the reverse.
type mailbox struct{ sent, wanted []*memoryMessage }

// memoryMessage is a Request.
type memoryMessage struct {
	data []byte
	done bool
	err  error
}

// memory is one rank's Transport.
type memory struct {
	job  *memoryJob
	rank int
}

func (m *memory) Start() error { return nil }
func (m *memory) Rank() int    { return m.rank }
func (m *memory) Size() int    { return m.job.size }
func (m *memory) Name() string { return "memory of one process" }
func (m *memory) Close() error { return nil }

func (m *memory) Send(to, tag int, data []byte) (Request, error) {
	return m.post(lane{m.rank, to, tag}, data, true)
}

func (m *memory) Receive(from, tag int, data []byte) (Request, error) {
	return m.post(lane{from, m.rank, tag}, data, false)
}

// post completes a message with the first one that waits on the other side of its lane. If
// none waits, the message itself waits.
func (m *memory) post(at lane, data []byte, send bool) (Request, error) {
	m.job.mu.Lock()
	defer m.job.mu.Unlock()
	if m.job.aborted != nil {
		return nil, m.job.aborted
	}
	box := m.job.lanes[at]
	if box == nil {
		box = &mailbox{}
		m.job.lanes[at] = box
	}
	message := &memoryMessage{data: data}
	mine, others := &box.sent, &box.wanted
	if !send {
		mine, others = others, mine
	}
	if len(*others) == 0 {
		*mine = append(*mine, message)
		return message, nil
	}
	other := (*others)[0]
	*others = (*others)[1:]
	from, to := message, other
	if !send {
		from, to = other, message
	}
	if len(from.data) != len(to.data) {
		to.err = errors.Errorf("want a message of %d bytes from rank %d, got %d: do all ranks run the same program on the same config?", len(to.data), at.from,
			len(from.data))
	}
	copy(to.data, from.data)
	from.done, to.done = true, true
	return message, nil
}

func (m *memory) Test(r Request) (bool, error) {
	m.job.mu.Lock()
	defer m.job.mu.Unlock()
	if m.job.aborted != nil {
		return false, m.job.aborted
	}
	message := r.(*memoryMessage)
	return message.done, message.err
}

// Abort makes all later calls of every rank fail.
func (m *memory) Abort(code int) {
	m.job.mu.Lock()
	defer m.job.mu.Unlock()
	if m.job.aborted == nil {
		m.job.aborted = errors.Errorf("rank %d has ended the job with exit code %d", m.rank, code)
	}
}
