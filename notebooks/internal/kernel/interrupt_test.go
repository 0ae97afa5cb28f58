//go:build jupyter

package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnInterruptStopsTheCellAndKeepsVariables(t *testing.T) {
	c := start(t)
	c.run("import (\n\t\"context\"\n\t\"fmt\"\n\t\"time\"\n)\nctx := context.Background()\nkept := []int{4, 2}\nturns := 0")
	for name, cell := range map[string]string{
		"loop":              "fmt.Println(\"begun\")\nfor {\n\tturns++\n}",
		"loop of a closure": "fmt.Println(\"begun\")\nf := func() { turns++ }\nfor {\n\tf()\n}",
		"sleep":             "fmt.Println(\"begun\")\nfor {\n\ttime.Sleep(time.Hour)\n}",
		"context":           "fmt.Println(\"begun\")\n<-ctx.Done()\nfmt.Println(ctx.Err())",
		"derived context":   "d, cancel := context.WithCancel(ctx)\nfmt.Println(\"begun\")\n<-d.Done()\ncancel()\nfor {}",
	} {
		id := c.send(cell)
		c.waitFor(id, "begun")
		reply := c.await(c.acknowledged, c.request(c.control, "interrupt_request", nil))
		require.Equal(t, "interrupt_reply", reply.Header.Type)
		require.Equal(t, "interrupted", c.failure(c.finish(id)), name)
		require.Equal(t, "6 true", c.run("fmt.Sprint(kept[0]+kept[1], ctx.Err() == nil)"), name)
	}
	reply := c.await(c.acknowledged, c.request(c.control, "interrupt_request", nil))
	require.Equal(t, "ok", reply.text("status"), "no cell runs")
	require.Equal(t, "true", c.run("turns > 0"))
}
