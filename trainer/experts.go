package trainer

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
)

// expertCounts adds up how many tokens each expert of each block got in a step.
type expertCounts struct {
	nodes  gorgonia.Nodes // a block's counts each, [experts] Int32
	counts [][]int        // [blocks][experts], of the present step; nil without experts
}

func newExpertCounts(nodes gorgonia.Nodes) expertCounts { return expertCounts{nodes: nodes} }

// add adds the last run's counts; first starts a new step.
func (e *expertCounts) add(first bool) error {
	if first && len(e.nodes) > 0 {
		e.counts = make([][]int, len(e.nodes))
	}
	for block, n := range e.nodes {
		counts, err := graph.Value(n)
		if err != nil {
			return err
		}
		for i, count := range counts.Int32s() {
			if i >= len(e.counts[block]) {
				e.counts[block] = append(e.counts[block], 0)
			}
			e.counts[block][i] += int(count)
		}
	}
	return nil
}
