package attention

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// rope is shared by the attentions of a graph that have the same rotary positions and size of
// heads. It holds the tables of angles, for the positions that rows have reached, and a device's
// table for all positions.
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
