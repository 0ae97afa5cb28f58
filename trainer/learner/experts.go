package learner

import "github.com/residua-go/residua/graph"

// ExpertCounts returns how many tokens each expert got in the last Gradient, [blocks][experts]; nil
// without Outputs.ExpertCounts or without experts. Each Gradient makes a new slice.
func (l *Learner) ExpertCounts() [][]int { return l.experts }

// countExperts adds the last micro-batch's counts to the step's; first tells that it is the step's
// first micro-batch.
func (l *Learner) countExperts(first bool) error {
	nodes := l.program.ExpertCounts // one node a block, [experts] Int32
	if first && len(nodes) > 0 {
		l.experts = make([][]int, len(nodes))
	}
	for block, n := range nodes {
		counts, err := graph.Value(n)
		if err != nil {
			return err
		}
		if first {
			l.experts[block] = make([]int, counts.DataSize())
		}
		for i, count := range counts.Int32s() {
			l.experts[block][i] += int(count)
		}
	}
	return nil
}
