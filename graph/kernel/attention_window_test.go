package kernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestVisibleCountsPairs: the closed form equals the count of keys that queries see.
func TestVisibleCountsPairs(t *testing.T) {
	for _, seq := range []int{1, 2, 7, 40} {
		for _, window := range []int{0, 1, 3, 7, 39, 40, 100} {
			for _, sinks := range []int{0, 1, 5, 50} {
				c := newAttentionCase(1, seq, 1, 1, false, 0, false).sliding(window, sinks)
				pairs := 0
				for i := range seq {
					for j := range seq {
						if c.sees(0, i, j) {
							pairs++
						}
					}
				}
				assert.Equal(t, pairs, c.Visible(), "%v", c)
			}
		}
	}
}

// TestSinksAreOfTheDocument: a query sees the first tokens of its own document, not of its row.
func TestSinksAreOfTheDocument(t *testing.T) {
	c := newAttentionCase(1, 30, 1, 4, false, 0, false).sliding(3, 2)
	c.starts = make([]int32, c.Seq)
	for i := 10; i < c.Seq; i++ {
		c.starts[i] = 10
	}
	prob := runPattern[float64](t, 1, c, c.randomQKV(1))
	var seen []int
	for j, p := range prob[25*c.Seq:][:c.Seq] {
		if p != 0 {
			seen = append(seen, j)
		}
	}
	assert.Equal(t, []int{10, 11, 23, 24, 25}, seen)
}

// TestWindowOfAWholeRowIsNone: a window that covers the row gives the same bits as no window.
func TestWindowOfAWholeRowIsNone(t *testing.T) {
	c := newAttentionCase(2, 300, 2, 8, true, 100, true)
	qkv, dout := c.randomQKV(1), c.randomOut(2)
	want := runAttention[float32](t, 2, c, qkv, dout)
	require.Equal(t, want.out, runAttention[float32](t, 2, c.sliding(300, 4), qkv, dout).out)
}
