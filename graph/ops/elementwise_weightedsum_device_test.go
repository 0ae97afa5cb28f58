//go:build cuda

package ops_test

import (
	"fmt"
	"testing"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/optest"
)

// TestDeviceElementsOfManyTokens has enough tokens that several blocks share the gradients of a
// gain and of weights for all tokens, and that a warp walks along a row.
func TestDeviceElementsOfManyTokens(t *testing.T) {
	if testing.Short() {
		t.Skip("many tokens on the emulator")
	}
	cases := hadamardCases()[:1]
	cases[0].Floats = [][]int{{300, 130}, {130}}
	for _, weights := range [][]int{{9}, {67, 9}} {
		c := weightedSumCases()[0]
		c.Floats = [][]int{weights}
		for range 9 {
			c.Floats = append(c.Floats, []int{67, 200})
		}
		cases = append(cases, c)
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.Floats), func(t *testing.T) { optest.CheckInAllPrecisions(t, c) })
	}
}

// TestDeviceWeightedSumOfOneTensor does on a device what TestWeightedSumOfOneTensor does, with one
// launch and with two.
func TestDeviceWeightedSumOfOneTensor(t *testing.T) {
	for _, precision := range graph.Precisions() {
		for _, k := range []int{3, 10} {
			checkSumOfOneTensor(t, graph.Options{Device: graph.CUDA, Precision: precision}, k)
		}
	}
}

// TestDeviceMultiwaySumOfOneTensor does on a device what TestMultiwaySumOfOneTensor does, with one
// launch and with two.
func TestDeviceMultiwaySumOfOneTensor(t *testing.T) {
	for _, precision := range graph.Precisions() {
		for _, k := range []int{3, 10} {
			checkWaysOfOneTensor(t, graph.Options{Device: graph.CUDA, Precision: precision}, k)
		}
	}
}
