//go:build jupyter

package kernel_test

import (
	"os"
	"runtime"
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
		message, shown := c.failure(c.finish(id))
		require.Regexp(t, `^cell \d+, line \d+: interrupted$`, message, name)
		require.Contains(t, shown, " | ", name)
		require.Equal(t, "6 true", c.run("fmt.Sprint(kept[0]+kept[1], ctx.Err() == nil)"), name)
	}
	reply := c.await(c.acknowledged, c.request(c.control, "interrupt_request", nil))
	require.Equal(t, "ok", reply.text("status"), "no cell runs")
	require.Equal(t, "true", c.run("turns > 0"))
}

func TestASignalInterruptsLikeARequest(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such signal")
	}
	c := start(t)
	c.run("import \"fmt\"\nkept := 42")
	id := c.send("fmt.Println(\"begun\")\nfor {\n}")
	c.waitFor(id, "begun")
	require.NoError(t, c.process.Signal(os.Interrupt))
	message, _ := c.failure(c.finish(id))
	require.Contains(t, message, "interrupted")
	require.Equal(t, "42", c.run("kept"))
}

func TestAnInterruptEndsTheShellsCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("wants echo and sleep")
	}
	c := start(t)
	id := c.send("$echo begun\n$sleep 100000")
	c.waitFor(id, "begun")
	c.await(c.acknowledged, c.request(c.control, "interrupt_request", nil))
	message, _ := c.failure(c.finish(id))
	require.Contains(t, message, "interrupted")
}
