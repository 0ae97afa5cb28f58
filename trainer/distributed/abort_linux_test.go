package distributed

import (
	"syscall"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"
)

// threads is a transport that tells on which OS threads it is called, and does not start.
type threads struct {
	Transport
	started, aborted int
}

func (t *threads) Start() error {
	t.started = syscall.Gettid()
	return errors.New("no network")
}

func (t *threads) Abort(int) { t.aborted = syscall.Gettid() }

// The job of a transport that has not started is ended on the thread that tried to start it.
func TestAbortWithoutAStart(t *testing.T) {
	transport := &threads{}
	g, err := New(transport, Options{})
	require.EqualError(t, err, "no network")
	g.Abort(1)
	require.NotZero(t, transport.started)
	require.Equal(t, transport.started, transport.aborted)
}
