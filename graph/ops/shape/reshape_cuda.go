package shape

import (
	"github.com/residua-go/residua/graph"
)

func (reshape) Launch(c *graph.DeviceCall) { c.CopyTo(c.Out(), c.In(0)) }
