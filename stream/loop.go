package stream

import (
	"strconv"
	"strings"
)

// Loop is a run of blocks that tokens pass several times: blocks Begin to End-1 in order, and
// again, Times times in all. The zero Loop means no loop.
//
// A stream is made of as many blocks as tokens pass, counted by their depth: with blocks 1 and 2
// twice, 0 1 2 1 2 3 are depths 0 to 5. Sites, activations, writers and constants are numbered by
// depth, parameters by block, since passes share them: a stream asks for "blocks.4.attention.qkv"
// and gets block 2's. Parameters that each pass has for itself are marked graph.ParamSpec.Unshared.
type Loop struct{ Begin, End, Times int }

// Further returns the number of depths that passes after the first add.
func (l Loop) Further() int { return max(0, l.Times-1) * (l.End - l.Begin) }

// Repeats tells whether tokens pass a block several times.
func (l Loop) Repeats(block int) bool { return l.Times > 1 && l.Begin <= block && block < l.End }

// Passes returns how often tokens pass a block.
func (l Loop) Passes(block int) int {
	if l.Repeats(block) {
		return l.Times
	}
	return 1
}

// Block returns the block at a depth.
func (l Loop) Block(depth int) int {
	switch length := l.End - l.Begin; {
	case depth >= l.End+l.Further():
		return depth - l.Further()
	case depth >= l.End:
		return l.Begin + (depth-l.Begin)%length
	}
	return depth
}

// Parameter returns the name of a parameter in the Store, given the name with the depth at which a
// stream asks for it.
func (l Loop) Parameter(name string) string {
	rest, ok := strings.CutPrefix(name, blocksPrefix)
	number, part, inner := strings.Cut(rest, ".")
	depth, err := strconv.Atoi(number)
	if !ok || !inner || err != nil {
		return name
	}
	return blockName(l.Block(depth)) + "." + part
}

// LoopedDesign is a design with parameters whose number depends on the depth, such as the weights
// of a sum over all earlier outputs. The design's Cost does not count these parameters.
type LoopedDesign interface {
	Design
	// DepthParameters returns a function that counts the parameters of the block at a depth:
	// shared ones, which all passes use (if their numbers differ, the largest counts), and the
	// pass's own. It returns nil if these settings have none.
	DepthParameters() func(depth int) (shared, own float64)
}
