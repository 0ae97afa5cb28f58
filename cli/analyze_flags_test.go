package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
)

// readPart decodes one part of a command's document.
func readPart(t *testing.T, part string, into any, args ...string) {
	t.Helper()
	var document struct{ Results map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(analyzeWorks(t, append(args, "-json")...)), &document))
	require.Contains(t, document.Results, part)
	require.NoError(t, json.Unmarshal(document.Results[part], into))
}

// TestAnalyzePrompts: a text is its ids, with BOS before them unless it is text from the middle, on
// whatever path the model is read from.
func TestAnalyzePrompts(t *testing.T) {
	run := trainedStream(t, "matrix")
	want := tables(analyzeWorks(t, "lens", "-checkpoint", run, "-ids", "97,98,10"))
	step := filepath.Join(run, "checkpoints", "step-00000004")
	for _, path := range []string{run, step, filepath.Join(step, "model.safetensors")} {
		assert.Equal(t, want, tables(analyzeWorks(t, "lens", "-checkpoint", path, "-prompt", "ab\n", "-bos=false", "-threads", "1")), path)
	}
	assert.Equal(t, tables(analyzeWorks(t, "lens", "-checkpoint", run, "-ids", "256, 97, 98")), tables(analyzeWorks(t, "lens", "-checkpoint", run, "-prompt", "ab")))
	assert.Contains(t, analyzeWorks(t, "lens", "-checkpoint", run, "-prompt", "ab\n"), ". 4 tokens: BOS a b ⏎\n")
	for _, target := range []string{"10", "\n", `"\n"`} {
		out := analyzeWorks(t, "attribute", "-checkpoint", run, "-prompt", "ab", "-token", "-2", "-target", target, "-against", "a")
		assert.Contains(t, out, "logit of ⏎ (id 10) minus that of a (id 97) after token 1 (a), by site\n", target)
	}
}

// tables is what a terminal shows without the line that names the model.
func tables(output string) string {
	_, rest, _ := strings.Cut(output, "\n")
	return rest
}

// TestDefaultPromptIsCut: a model with few positions reads its beginning.
func TestDefaultPromptIsCut(t *testing.T) {
	run := clitest.Train(t, append(tinySizes("vector"), "model.seq=16", "train.steps=1", "train.eval_every=0")...).Dir
	for _, name := range []string{"lens", "patch"} {
		assert.Contains(t, analyzeWorks(t, name, "-checkpoint", run), ". 16 tokens: BOS f u n c ␣ a d d ( a , ␣ b ␣ i")
	}
}

// TestAttributeFlags: the table holds what is asked for, and the terms add up.
func TestAttributeFlags(t *testing.T) {
	args := []string{"attribute", "-checkpoint", gpt2HF, "-ids", "5,6,7", "-target", "11"}
	var a analysis.Attribution
	readPart(t, "attribution", &a, args...)
	assert.InDelta(t, a.Logit, a.Sum, 1e-5)
	assert.Equal(t, 11, a.Target)
	assert.Equal(t, 2, a.Token)
	out := analyzeWorks(t, append(args, "-layer", "1", "-head", "2")...)
	rows := regexp.MustCompile(`(?m)^(\S+ (neuron|bias)\b|\S+attention\.\d).*$`).FindAllString(out, -1)
	require.Len(t, rows, 1)
	assert.True(t, strings.HasPrefix(rows[0], "blocks.1.attention.2 "), rows[0])
	out = analyzeWorks(t, append(args, "-layer", "1", "-top", "7")...)
	rows = regexp.MustCompile(`(?m)^blocks\.1\.\S+ (neuron|bias).*$`).FindAllString(out, -1)
	assert.Len(t, rows, 7)
	assert.Contains(t, out, "\nthe other ")
	assert.Contains(t, out, "logit of id 11 after token 2, by head\n")
}

// TestAblateNamed: one place alone is what the sweep has there.
func TestAblateNamed(t *testing.T) {
	run := trainedStream(t, "matrix")
	var sweep, one analysis.Sweep
	readPart(t, "heads", &sweep, "ablate", "-checkpoint", run, "-target", "b")
	readPart(t, "ablation", &one, "ablate", "-checkpoint", run, "-target", "b", "-names", "blocks.1.attention.heads", "-at", "head=2")
	assert.NotZero(t, one.Effect[0][0])
	assert.Equal(t, sweep.Effect[1][2], one.Effect[0][0])
	assert.Equal(t, sweep.Baseline, one.Baseline)
	assert.Contains(t, one.Metric, "logit of b (id 98)")
	readPart(t, "ablation", &one, "ablate", "-checkpoint", run, "-names", "blocks.*.attention.heads", "-names", "embedding.out")
	assert.Equal(t, []string{"3 activations"}, one.Rows)
	assert.Contains(t, one.Metric, "loss")
	assert.Contains(t, analyzeWorks(t, "ablate", "-checkpoint", run, "-top", "3"), "blocks.")
	assert.Regexp(t, `mean over 8 rows\n(?s).*\nblocks\.1\.feedforward +-?[0-9.e-]+ +[0-9.e-]+\nblocks\.1 `, analyzeWorks(t, "ablate", "-checkpoint", run, "-blocks"))
	assert.Regexp(t, `mean over 1 rows\n(?s).*\nblocks\.1 `, analyzeWorks(t, "ablate", "-checkpoint", run, "-blocks", "-prompt", "ab"))
	over := []string{"ablate", "-checkpoint", run, "-rows", "2", "-names", "blocks.1.attention.heads", "-target", "b"}
	for what, more := range map[string][]string{"all tokens": nil, "head=2": {"-at", "head=2", "-against", "a"}} {
		out := t.TempDir()
		text := analyzeWorks(t, append(slices.Concat(over, more), "-out", out)...)
		assert.Equal(t, more != nil, strings.Contains(text, "change of the logits' difference"))
		page, err := os.ReadFile(filepath.Join(out, "index.html"))
		require.NoError(t, err)
		assert.Contains(t, string(page), "set to 0 at "+what+" of each prompt or row")
	}
}

// TestBOSBeforeTextFromTheMiddle: BOS before text from the middle of a file misleads a model, so
// that a head that is worth 0.149 appears to do harm: such text is read with -bos=false.
func TestBOSBeforeTextFromTheMiddle(t *testing.T) {
	args := []string{"ablate", "-checkpoint", "../examples/embedded/model.safetensors", "-names", "blocks.1.attention.heads", "-at", "head=5", "-prompt", "func add(a, b int) int {\n\treturn a + "}
	var without, with analysis.Sweep
	readPart(t, "ablation", &without, append(args, "-bos=false")...)
	readPart(t, "ablation", &with, args...)
	assert.InDelta(t, 1.574, without.Baseline, 1e-3)
	assert.InDelta(t, 1.899, with.Baseline, 1e-3)
	assert.InDelta(t, 0.149, without.Effect[0][0], 1e-3)
	assert.InDelta(t, -0.152, with.Effect[0][0], 1e-3)
}

// TestPatchBringsAllBack: the last stream of the last token holds the whole difference.
func TestPatchBringsAllBack(t *testing.T) {
	run := trainedStream(t, "vector")
	var p analysis.Patching
	readPart(t, "stream", &p, "patch", "-checkpoint", run, "-prompt", "line 7", "-corrupt", "lime 7")
	last := len(p.Effect) - 1
	assert.InDelta(t, 1, p.Effect[last][6], 1e-3)
	assert.Zero(t, p.Effect[0][0], "the first token is in both")
	out := analyzeWorks(t, "patch", "-checkpoint", run, "-prompt", "line 7", "-corrupt", "lime 7")
	assert.Contains(t, out, ". 7 tokens: BOS l i n e ␣ 7. Corrupt prompt: BOS l i m e ␣ 7\n")
	assert.Contains(t, out, "3 n")
	out = analyzeWorks(t, "patch", "-checkpoint", run, "-prompt", "line 7", "-corrupt", "lime 7", "-method", "attribution")
	assert.Contains(t, out, "to first order")
	pairs := filepath.Join(t.TempDir(), "pairs.txt")
	require.NoError(t, os.WriteFile(pairs, []byte("line 7\tlime 7\nabc\tadc\n"), 0o644))
	assert.Contains(t, analyzeWorks(t, "patch", "-checkpoint", run, "-prompts", pairs), "mean over 2 prompts")
	assert.Contains(t, analyzeWorks(t, "ablate", "-checkpoint", run, "-rows", "2", "-with", "resample"), "mean over 2 rows of validation text")
	assert.Contains(t, analyzeWorks(t, "ablate", "-checkpoint", run, "-rows", "2", "-with", "mean", "-restore"), "mean over 2 rows of validation text")
	assert.Contains(t, analyzeWorks(t, "paths", "-checkpoint", run, "-rows", "2", "-heads"), "(2 rows, ")
	assert.Contains(t, analyzeWorks(t, "directions", "-checkpoint", run, "-rows", "2", "-count", "2"), "sparse directions of ")
}

// TestTunedLens: it is trained on the run's validation text or on a file, kept next to the page,
// and looked through again from there; a file that is no lens of the model is refused.
func TestTunedLens(t *testing.T) {
	run, dir := trainedStream(t, "vector"), t.TempDir()
	args := []string{"lens", "-checkpoint", run, "-prompt", "line 7"}
	var fit analysis.LensFit
	var trainedOn, again analysis.Lens
	train := append(args, "-tuned", "-tuned-steps", "20", "-tuned-tokens", "480", "-data", "../go.mod")
	readPart(t, "tuned-fit", &fit, train...)
	assert.Equal(t, []string{"positions", "blocks.0.attention", "blocks.0.feedforward", "blocks.1.attention"}, fit.After)
	for i, after := range fit.After {
		assert.Less(t, fit.Tuned[i], fit.Plain[i], after)
	}
	readPart(t, "tuned", &trainedOn, append(train, "-out", dir)...)
	file := filepath.Join(dir, report.TunedFile)
	readPart(t, "tuned", &again, append(args, "-tuned-file", file)...)
	require.Len(t, again.Points, len(trainedOn.Points))
	for i, p := range trainedOn.Points {
		assert.InDelta(t, p.Logit, again.Points[i].Logit, 1e-5, p.After)
	}
	assert.Contains(t, analyzeWorks(t, append(args, "-tuned-file", file)...), "tuned lens on ")
	callAnalyze(append(args, "-tuned-file", filepath.Join(run, "config.yaml"))...).Refused(t, "-tuned-file: ")
	callAnalyze(append(args, "-tuned", "-tuned-file", file)...).Refused(t, "-tuned-file: want a lens that is trained (-tuned), or a file, got both")
	callAnalyze(append(args, "-data", "../go.mod")...).Refused(t, "-data: want -tuned with it")
	callAnalyze(append(args, "-tuned", "-tuned-tokens", "50")...).Refused(t, "text: want at least 96 tokens, 2 rows of the model's 48, got ")
}

// TestHeadsOfOne: a layer's patterns alone, or one head as a tensor product.
func TestHeadsOfOne(t *testing.T) {
	args := []string{"heads", "-checkpoint", gpt2HF, "-period", "5", "-rows", "1"}
	var p analysis.AttentionPatterns
	readPart(t, "attention-1", &p, append(args, "-layer", "1")...)
	assert.Len(t, p.IDs, 10, "the first row of random tokens")
	readPart(t, "attention-1", &p, append(args, "-layer", "1", "-ids", "1,2,3")...)
	assert.Equal(t, []int32{1, 2, 3}, p.IDs)
	assert.NotContains(t, analyzeWorks(t, append(args, "-layer", "1")...), "layer 0")
	var product analysis.TensorProduct
	readPart(t, "tensor-product", &product, append(args, "-layer", "1", "-head", "2")...)
	assert.Less(t, product.Deviation, 1e-4*product.Largest)
}

// TestAnalyzeSeeds: the same seed gives the same table, another another.
func TestAnalyzeSeeds(t *testing.T) {
	run := trainedStream(t, "matrix")
	args := []string{"memory", "-checkpoint", run, "-seeds", "2", "-seed"}
	assert.Equal(t, analyzeWorks(t, append(args, "3")...), analyzeWorks(t, append(args, "3")...))
	assert.NotEqual(t, analyzeWorks(t, append(args, "3")...), analyzeWorks(t, append(args, "4")...))
}

// TestTheory: the paper's tables and figures, without a model; a run config is counted in Table 7,
// after the paper's models.
func TestTheory(t *testing.T) {
	dir := t.TempDir()
	out := analyzeWorks(t, "theory", "-config", "quickstart", "-out", dir)
	for _, title := range []string{"Figure 1", "Table 1", "Table 2", "Table 7", "quickstart"} {
		assert.Contains(t, out, title)
	}
	for _, name := range []string{"table-1.md", "table-1.csv", "table-1-1.svg", "table-1-1.png", "table-2.md", "figure-1-1.svg"} {
		assert.FileExists(t, filepath.Join(dir, name))
	}
	checkPage(t, dir)
	checkDrawn(t, openBrowser(t), filepath.Join(dir, report.PageFile))
	longtest.Skip(t) // another seed takes seconds
	var document struct{ Results map[string]any }
	other := analyzeWorks(t, "theory", "-seed", "2", "-json")
	require.NoError(t, json.Unmarshal([]byte(other), &document))
	assert.Contains(t, document.Results, "table-1")
	assert.NotContains(t, other, "quickstart")
}

// ill is an analysis, about no model, that does not end as it should.
type ill struct {
	name string
	run  func() (*report.Report, error)
}

func (i ill) Name() string { return i.name }

func (i ill) Card() report.Card {
	return report.Card{Summary: "do what no analysis should", Example: "analyze " + i.name, Paper: true}
}

func (i ill) Run(context.Context, *report.Model) (*report.Report, error) { return i.run() }

// callIll calls it.
func callIll(ctx context.Context, run func() (*report.Report, error)) clitest.Outcome {
	command, rest := suite(models.Standard().WithKinds(ill{name: "ill", run: run}), "ours").Choose([]string{"analyze", "ill"})
	return clitest.CallWith(ctx, command, rest...)
}

// TestAnalyzeInterrupted: an analysis that does not hear of an interrupt ends all the same.
func TestAnalyzeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	never := make(chan struct{})
	defer close(never)
	got := callIll(ctx, func() (*report.Report, error) {
		cancel()
		<-never
		return nil, nil
	})
	assert.Equal(t, clitest.Outcome{Code: commandline.ExitRun, Stderr: "error: ours analyze ill: interrupted\n"}, got)
	got = callWith(ctx, "analyze", "memory", "-checkpoint", trainedStream(t, "matrix"))
	assert.Equal(t, clitest.Outcome{Code: commandline.ExitRun, Stderr: "error: ours analyze memory: interrupted\n"}, got)
}

// TestAnalyzePanicIsOneLine: an analysis runs apart from where the command's panics are caught.
func TestAnalyzePanicIsOneLine(t *testing.T) {
	got := callIll(t.Context(), func() (*report.Report, error) { panic("broken") })
	assert.Equal(t, clitest.Outcome{Code: commandline.ExitRun, Stderr: "error: internal error: broken\n"}, got)
}

// TestCircuitsOfOne: one head alone, or one layer.
func TestCircuitsOfOne(t *testing.T) {
	args := []string{"circuits", "-checkpoint", gpt2HF, "-layer", "1"}
	var head analysis.HeadCircuits
	readPart(t, "head", &head, append(args, "-head", "2")...)
	assert.Equal(t, "blocks.1.attention.2", head.Name())
	assert.Len(t, head.OV.Eigenvalues, 8)
	assert.NotNil(t, head.FullOV)
	out := analyzeWorks(t, append(args, "-full=false")...)
	assert.Equal(t, 3, len(regexp.MustCompile(`(?m)^blocks\.1\.attention\.\d +-?[0-9.]+ +-?[0-9.]+$`).FindAllString(out, -1)), out)
	out, _, found := strings.Cut(tables(out), "\nComposition")
	assert.True(t, found)
	assert.NotContains(t, out, "blocks.0.")
}

// TestWiringOfOne: the virtual weights of two sites; a prompt matters where a stream mixes.
func TestWiringOfOne(t *testing.T) {
	run := trainedStream(t, "hyper")
	var v analysis.VirtualWeights
	readPart(t, "weights", &v, "wiring", "-checkpoint", run, "-from", "blocks.0.feedforward", "-to", "blocks.1.attention.0.q")
	assert.Len(t, v.Values, 24)
	args := []string{"wiring", "-checkpoint", run, "-fdr", "1", "-json", "-prompt"}
	assert.NotEqual(t, carries(t, append(args, "line")...), carries(t, append(args, "nothing times")...))
	said := "; what is written is carried on by the means of the coefficients over the prompt's "
	assert.Contains(t, analyzeWorks(t, "wiring", "-checkpoint", run, "-ids", "3,1,4"), said+"3 tokens")
	assert.NotContains(t, analyzeWorks(t, "wiring", "-checkpoint", trainedStream(t, "matrix")), said)
	args = append([]string{"wiring", "-checkpoint", trainedStream(t, "matrix")}, args[3:]...)
	args = slices.DeleteFunc(args, func(arg string) bool { return arg == "-json" })
	assert.Equal(t, analyzeWorks(t, append(args, "line")...), analyzeWorks(t, append(args, "nothing times")...))
	var whole, parts analysis.Wiring
	readPart(t, "wiring", &whole, append(args, "a", "-whole")...)
	readPart(t, "wiring", &parts, append(args, "a")...)
	assert.Less(t, whole.Pairs, parts.Pairs)
}

// carries are the sizes of what arrives over a wiring's edges.
func carries(t *testing.T, args ...string) []float64 {
	var w analysis.Wiring
	readPart(t, "wiring", &w, args...)
	var all []float64
	for _, e := range w.Edges {
		all = append(all, e.Carry)
	}
	return all
}
