package graph

func (add) Launch(c *DeviceCall) {
	c.Unify()
	c.Sum(c.Out(), c.Inputs(), c.Accumulate())
}
