package kernel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSimulation: what is outside the parts and the longest part of each Do remain, each from the
// run in which it was shortest.
func TestSimulation(t *testing.T) {
	var s Simulation
	assert.Zero(t, s.Alone())
	assert.Zero(t, s.Shared())
	s.add(2, []int{4, 3}, []time.Duration{3, 50, 2, 1}, 4)
	s.add(2, []int{4, 3}, []time.Duration{30, 5, 2, 10}, 6)
	assert.EqualValues(t, 4+3+5+2+1, s.Alone())
	assert.EqualValues(t, 4+5+2, s.Shared())
	assert.EqualValues(t, 4+(3+5)*2/4+(2+1)*2/3, s.Even())
	s.add(2, []int{1}, []time.Duration{7, 8}, 1)
	assert.EqualValues(t, 1+8, s.Shared(), "a run with other calls of Do begins anew")
}

// spinTask keeps the processor busy for a millisecond an item, half of it in a Do of its own.
type spinTask struct{ pool *Pool }

func (s *spinTask) Part(_, lo, hi int) {
	spin := taskFunc(func(_, lo, hi int) {
		for end := clock() + time.Duration(hi-lo)*time.Millisecond/2; clock() < end; {
		}
	})
	spin.Part(0, lo, hi)
	s.pool.Do(hi-lo, spin)
}

// TestPoolSimulates many threads on one: the parts of a Do, of which those within a part are none.
func TestPoolSimulates(t *testing.T) {
	const threads = 8
	p := NewPool(threads)
	p.Simulate()
	var s Simulation
	for range 3 {
		p.BeginRun()
		p.Do(threads+1, &spinTask{p}) // one worker has two items
		p.EndRun(&s)
	}
	require.Len(t, s.parts, threads)
	assert.GreaterOrEqual(t, s.Alone(), 9*time.Millisecond)
	assert.GreaterOrEqual(t, s.Shared(), 2*time.Millisecond)
	assert.InDelta(t, 9./2, float64(s.Alone())/float64(s.Even()), 0.1)

	var none Simulation
	other := NewPool(2)
	defer other.Close()
	other.BeginRun()
	other.Do(2, &spinTask{other})
	other.EndRun(&none)
	assert.Zero(t, none)
}
