package data

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWindows(t *testing.T) {
	w, err := NewWindows(counting(12), 2, 3)
	require.NoError(t, err)
	assert.Equal(t, 3, w.Len())
	assert.Equal(t, 2, w.Batches())
	inputs, targets := make([]int32, 6), make([]int32, 6)

	count, err := w.Batch(0, inputs, targets)
	require.NoError(t, err)
	assert.Equal(t, 2, count)
	assert.Equal(t, []int32{0, 1, 2, 3, 4, 5}, inputs)
	assert.Equal(t, []int32{1, 2, 3, 4, 5, 6}, targets)

	count, err = w.Batch(1, inputs, targets)
	require.NoError(t, err)
	assert.Equal(t, 1, count)
	assert.Equal(t, []int32{6, 7, 8, 0, 0, 0}, inputs)
	assert.Equal(t, []int32{7, 8, 9, ignoredTarget, ignoredTarget, ignoredTarget}, targets)
}

// Every length: (n - 1) / seq windows, each target once and in order.
func TestWindowsCoverTheStream(t *testing.T) {
	for n := 5; n < 60; n++ {
		w, err := NewWindows(counting(n), 3, 4)
		require.NoError(t, err)
		require.Equal(t, (n-1)/4, w.Len())
		inputs, targets := make([]int32, 12), make([]int32, 12)
		expected, windows := int32(1), 0
		for i := range w.Batches() {
			count, err := w.Batch(i, inputs, targets)
			require.NoError(t, err)
			windows += count
			for at, target := range targets {
				if at >= count*4 {
					require.EqualValues(t, ignoredTarget, target)
					continue
				}
				require.Equal(t, expected, target)
				require.Equal(t, expected-1, inputs[at])
				expected++
			}
		}
		require.Equal(t, w.Len(), windows)
		require.EqualValues(t, w.Len()*4, expected-1)
	}
}

// The yardstick's: 262,145 tokens in windows of 128.
func TestWindowsOfTheYardstick(t *testing.T) {
	w, err := NewWindows(narrow(make([]uint16, 262_145)...), 32, 128)
	require.NoError(t, err)
	assert.Equal(t, 2048, w.Len())
	assert.Equal(t, 64, w.Batches())
}

func TestWindowsErrors(t *testing.T) {
	_, err := NewWindows(counting(8), 2, 8)
	assert.EqualError(t, err, "data: windows: want at least 9 tokens (seq 8 + 1), got 8")
	_, err = NewWindows(counting(8), 0, 4)
	assert.EqualError(t, err, "data: windows: want batch and seq of at least 1, got 0 x 4")
	w, err := NewWindows(counting(9), 2, 4)
	require.NoError(t, err)
	for _, i := range []int{-1, 1} {
		_, err = w.Batch(i, make([]int32, 8), make([]int32, 8))
		assert.ErrorContains(t, err, "data: windows: want a batch in [0, 1), got ")
	}
	_, err = w.Batch(0, make([]int32, 4), make([]int32, 8))
	assert.EqualError(t, err, "data: windows: want inputs and targets of 8 elements (batch 2 x seq 4), got 4 and 8")
}
