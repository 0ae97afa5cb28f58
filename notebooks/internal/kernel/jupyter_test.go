//go:build jupyter

package kernel_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/notebooks/internal/kernel"
)

func TestACellThatFailsSaysWhy(t *testing.T) {
	c := start(t)
	c.run("import (\n\t\"errors\"\n\t\"fmt\"\n\t\"strconv\"\n\n\t\"github.com/residua-go/residua/runconfig\"\n\t\"github.com/residua-go/residua/models\"\n\t\"github.com/residua-go/residua/notebooks/show\"\n)")
	c.run("values := []int{1, 2, 3}\n\nfunc careful() (err interface{}) {\n\tdefer func() { err = recover() }()\n\tpanic(\"first\")\n}")
	for _, cell := range []struct{ name, text, message string }{
		{"does not compile", "a := 1\nb := a + missing\nc := 2", "%s:2:10: undefined identifier: missing"},
		{"does not compile in a function", "func f() {\n\tx := 1\n\tfor {\n\t\tx = \"a\"\n\t}\n}", "%s:4:"},
		{"is not Go", "x := 1\ny := )\n", "%s:2:"},
		{"cannot import", "import (\n\t\"fmt\"\n\t\"none/such\"\n)", `import "none/such": this kernel was built without it`},
		{"panics", "n := 3\nfor i := 0; i < n; i++ {\n\tif i == 2 {\n\t\tpanic(\"two\")\n\t}\n}", "two"},
		{"is one expression", "\n\nvalues[7]", "index out of range"},
		{"returns an error", "x := 1\n\nstrconv.Atoi(\"x\")", `strconv.Atoi: parsing "x": invalid syntax`},
		{"shows an error", "ok := true\nshow.Check(nil)\nshow.Check(errors.New(\"no such layer\"))\nok = false", "no such layer"},
		{"fails in our package", "run, _, err := runconfig.Load(models.Standard(), \"none.yaml\", nil)\nshow.Check(err)\nfmt.Println(run)", "none.yaml"},
		{"fails after a failure that was recovered from", "careful()\nzero := 0\n1 / zero", "runtime error: integer divide by zero"},
	} {
		message := c.fail(cell.text)
		require.Contains(t, message, strings.ReplaceAll(cell.message, "%s", fmt.Sprintf("cell %d", c.number)), cell.name)
	}
	require.Equal(t, "6", c.run("sum := 0\nfor _, v := range values {\n\tsum += v\n}\nsum"), "variables are there")
}

// TestTables imports every package, and lists what is left out of the tables.
func TestTables(t *testing.T) {
	c := start(t)
	for i, path := range kernel.Packages() {
		c.run(fmt.Sprintf("import p%d %q", i, path))
	}
	c.run("import (\n\t\"io\"\n\t\"math\"\n\t\"sort\"\n\t\"sync/atomic\"\n\t\"strconv\"\n\n\t\"gorgonia.org/gorgonia\"\n\n\t\"github.com/residua-go/residua/models\"\n\t\"github.com/residua-go/residua/stream\"\n)")
	for cell, want := range map[string]string{
		"1 + 2":                  "3",
		"strconv.Atoi(\"3\")":    "3",
		"math.MaxUint64 / 2.0":   "9.223372036854776e+18",
		"uint64(math.MaxUint64)": "18446744073709551615",
		"models.PositionsALiBi == models.PositionsALiBi": "true",
		"stream.VectorConfig{}.Name()":                   "vector",
		"type byLength []string\nfunc (b byLength) Len() int { return len(b) }\nfunc (b byLength) Less(i, j int) bool { return len(b[i]) < len(b[j]) }\n" +
			"func (b byLength) Swap(i, j int) { b[i], b[j] = b[j], b[i] }\nwords := []string{\"long\", \"s\"}\nsort.Sort(byLength(words))\nwords[0]": "s",
		"g := gorgonia.NewGraph()\nnodes := gorgonia.Nodes{gorgonia.NewScalar(g, gorgonia.Float64, gorgonia.WithName(\"x\"))}\n" +
			"grads, err := gorgonia.Grad(gorgonia.Must(gorgonia.Square(nodes[0])), nodes...)\nlen(grads)": "1",
		"nodesByName := map[string][]*gorgonia.Node{\"a\": []*gorgonia.Node{nil}}\nlen(append(nodesByName[\"a\"], nil))": "2",
	} {
		require.Equal(t, want, c.run(cell), cell)
	}
	c.fail("var generic atomic.Pointer")
}

// corpusCell makes the config of a run on our own source with the given number of steps.
func corpusCell(t *testing.T, steps int) string {
	return fmt.Sprintf(`import (
	"context"
	"fmt"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/notebooks/show"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/trainer"
)

run, _, err := runconfig.Load(models.Standard(), "../configs/quickstart.yaml", []string{"model.layers=1", "model.stream={dk: 4, dv: 4, rank: 2}", "model.feedforward.hidden=8", "model.seq=16",
	"train.batch=2", "train.steps=%d", "train.eval_every=0", "train.eval_tokens=64", "train.checkpoint_every=0", "out=%s"})
show.Check(err)
c := models.Config{Layers: 1, Stream: stream.VectorConfig{Vectors: stream.Vectors{D: 8}}, FeedForward: layers.GELUConfig{Hidden: 8}, Vocab: 8, Seq: 16, Init: models.InitLeCun,
	Attention: models.Attention{Heads: 2, Positions: models.PositionsALiBi}}
small, err := c.Resolve()
show.Check(err)
task := analysis.RepeatTask{Rows: 1, MinPeriod: 2, MaxPeriod: 4, Steps: %d, LR: 0.01, Threads: 1}`,
		steps, filepath.ToSlash(t.TempDir()), steps)
}

// trainingCells returns cells that train with our trainer and with analysis.
func trainingCells() []string {
	return []string{
		"t, err := trainer.Open(context.Background(), run, trainer.Options{Report: show.Training(Display)})\nshow.Check(err)\nresult, err := t.Run(context.Background())\nt.Close()\nshow.Check(err)",
		"task.Report = show.Progress(Display)\n_, curve, err := task.Train(small)\nshow.Check(err)",
	}
}

func TestAnInterruptStopsTraining(t *testing.T) {
	c := start(t)
	c.run(corpusCell(t, 10_000_000))
	for _, cell := range trainingCells() {
		id := c.send(cell)
		c.waitFor(id, ", loss ")
		c.await(c.acknowledged, c.request(c.control, "interrupt_request", nil))
		message := c.failure(c.finish(id))
		require.Contains(t, message, "interrupted")
		require.Equal(t, "10000000", c.run("run.Train.Steps"))
	}
}

func TestATrainingCellShowsProgressInOneLine(t *testing.T) {
	c := start(t)
	c.run(corpusCell(t, 300))
	for _, cell := range trainingCells() {
		reply, published := c.finish(c.send(cell))
		require.Equal(t, "ok", reply.text("status"), reply.text("evalue"))
		var kinds, texts []string
		ids := map[any]bool{}
		for _, m := range published {
			if strings.HasSuffix(m.Header.Type, "display_data") {
				kinds, texts = append(kinds, m.Header.Type), append(texts, m.plain())
				ids[m.Content["transient"].(map[string]any)["display_id"]] = true
			}
		}
		require.Greater(t, len(kinds), 1)
		require.Equal(t, "display_data", kinds[0])
		for i, kind := range kinds[1:] {
			require.Equal(t, "update_display_data", kind, texts[i+1])
		}
		require.Len(t, ids, 1)
		require.Regexp(t, `(?m)^\[ {20}\] 1 of 300 steps, loss [\d.]+, \w+ left$`, strings.Join(texts, "\n"))
		require.Equal(t, "300 of 300 steps", texts[len(texts)-1])
	}
}

func TestCompletion(t *testing.T) {
	c := start(t)
	c.run("import (\n\t\"os\"\n\n\t\"github.com/residua-go/residua/models\"\n\t\"github.com/residua-go/residua/trainer\"\n)\n" +
		"type pair struct {\n\tleft, right int\n}\nfunc (p pair) lead() int { return p.left }\n" +
		"one := pair{1, 2}\nlengthy := 1\nmodel := models.Config{}\nspec := models.Spec{}")
	for _, cell := range []struct {
		text string   // the cursor is at the |
		want []string // among what is offered
		not  []string
		from int // where what is replaced begins
	}{
		{"one.le|", []string{"lead", "left"}, []string{"lengthy"}, 4},
		{"le|", []string{"lengthy", "len"}, []string{"left"}, 0},
		{"x := trainer.Op|", []string{"Open", "Options"}, []string{"NewStore"}, 13},
		{"trainer.|", []string{"Open", "Trainer", "ReadMetrics"}, nil, 8},
		{"model.Se|", []string{"Seq"}, nil, 6},
		{"spec.Co|", []string{"Cost", "Config"}, nil, 5},
		{"os.Stdout.Wri|", []string{"Write", "WriteString"}, nil, 10},
		{"ret|", []string{"return"}, nil, 0},
	} {
		text := strings.TrimSuffix(cell.text, "|")
		reply := c.await(c.replies, c.request(c.shell, "complete_request", map[string]any{"code": text, "cursor_pos": len(text)}))
		require.Equal(t, "ok", reply.text("status"), cell.text)
		require.Equal(t, float64(len(text)), reply.Content["cursor_end"], cell.text)
		var matches []string
		for _, m := range reply.Content["matches"].([]any) {
			matches = append(matches, m.(string))
		}
		require.Subset(t, matches, cell.want, cell.text)
		for _, not := range cell.not {
			require.NotContains(t, matches, not, cell.text)
		}
		require.Equal(t, float64(cell.from), reply.Content["cursor_start"], cell.text)
	}
	require.Equal(t, "1", c.run("lengthy"), "nothing has run")
}

func TestShutdownIsAnsweredWhileACellRuns(t *testing.T) {
	c := start(t)
	c.run("import \"fmt\"")
	id := c.send("fmt.Println(\"begun\")\nfor {\n}")
	c.waitFor(id, "begun")
	reply := c.await(c.acknowledged, c.request(c.control, "shutdown_request", map[string]any{"restart": false}))
	require.Equal(t, "shutdown_reply", reply.Header.Type)
	_, err := c.process.Wait()
	require.NoError(t, err)
}
