//go:build cuda

package graph

func (add) launch(c *deviceCall) error {
	if err := c.unify(); err != nil {
		return err
	}
	return c.sum(c.out(), c.args, c.accumulate())
}
