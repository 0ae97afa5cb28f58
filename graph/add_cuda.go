package graph

func (add) Launch(c *DeviceCall) error {
	if err := c.Unify(); err != nil {
		return err
	}
	return c.Sum(c.Out(), c.Inputs(), c.Accumulate())
}
