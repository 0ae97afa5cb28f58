package distributed

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lonely is a transport that waits, as MPI does, for ranks that never start.
type lonely struct {
	Transport
	end chan struct{}
}

func (l *lonely) Start() error { <-l.end; return nil }

// TestRanksThatDoNotStart: a rank says that it waits for the others to start, and gives up after
// the timeout.
func TestRanksThatDoNotStart(t *testing.T) {
	l := &lonely{Memory(1)[0], make(chan struct{})}
	defer close(l.end)
	var mu sync.Mutex
	var said []string
	begin := time.Now()
	g, err := New(l, Options{Timeout: 200 * time.Millisecond, Note: func(message string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, message)
	}})
	require.Nil(t, g, "nothing can be aborted")
	require.ErrorContains(t, err, "the ranks of the job have not all started within 200ms (device.rank_timeout)")
	require.Less(t, time.Since(begin), 10*time.Second)
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, said, 1)
	assert.Contains(t, said[0], "waiting for the other ranks of the job to start")
}

// stuck is a transport whose Test does not return.
type stuck struct {
	Transport
	end chan struct{}
}

func (s *stuck) Test(Request) (bool, error) { <-s.end; return false, nil }

// TestAbortOfAStuckTransport: Abort returns although the transport does not.
func TestAbortOfAStuckTransport(t *testing.T) {
	all := Memory(2)
	s := &stuck{all[0], make(chan struct{})}
	defer close(s.end)
	done := make(chan struct{})
	go func() {
		defer close(done)
		g, err := New(s, Options{Timeout: 100 * time.Millisecond})
		require.ErrorContains(t, err, "has not returned from a call")
		g.Abort(1)
	}()
	select {
	case <-done:
	case <-time.After(4 * abortGrace):
		t.Fatal("Abort does not return")
	}
}
