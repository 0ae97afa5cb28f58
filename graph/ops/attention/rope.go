package attention

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// rope is what the attentions of a graph with the same rotary positions and size of heads share:
// the table of the positions that their rows have reached or, on a device, of all.
type rope struct {
	float32s kernel.RopeTable[float32]
	float64s kernel.RopeTable[float64]
	angles   graph.DeviceMemory
}

// tableOf returns the table for numbers of type T, nil without rotary positions.
func tableOf[T kernel.Float](r *rope) *kernel.RopeTable[T] {
	if r == nil {
		return nil
	}
	if table, ok := any(&r.float32s).(*kernel.RopeTable[T]); ok {
		return table
	}
	return any(&r.float64s).(*kernel.RopeTable[T])
}
