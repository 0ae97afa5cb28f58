package gpucheck

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// write makes a file in a folder.
func write(t *testing.T, folder, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
}

// runOf makes a run folder of these losses; gradient norms are twice as large.
func runOf(t *testing.T, losses ...float64) string {
	t.Helper()
	var text strings.Builder
	for i, loss := range losses {
		fmt.Fprintf(&text, `{"step":%d,"tokens":%d,"loss":%v,"lr":0.1,"grad_norm":%v,"tokens_per_s":%v}`+"\n", i+1, 8*i, loss, 2*loss, rand.Float64())
	}
	folder := t.TempDir()
	write(t, folder, "metrics.jsonl", text.String())
	return folder
}

func TestCompare(t *testing.T) {
	want, got := runOf(t, 5.5, 4, 2), runOf(t, 5.5, 4.004, 2.001)
	var out bytes.Buffer
	require.NoError(t, Comparison{Name: "tiny", Want: want, Got: got, Tolerance: 1e-2}.Write(&out))
	assert.Equal(t, `figure: tiny: loss 5.5000 to 2.0000 in 3 steps, the other 5.5000 to 2.0010; largest relative difference 1.0e-03, at step 2 (wanted <= 1e-02), of gradient norms 1.0e-03
`+fence+`
tiny
  step          loss     the other  relative
     1      5.500000      5.500000   0.0e+00
     2      4.000000      4.004000   1.0e-03
     3      2.000000      2.001000   5.0e-04
`+fence+"\n", out.String())
	err := Comparison{Name: "tiny", Want: want, Got: got, Tolerance: 5e-4}.Write(&out)
	require.ErrorContains(t, err, "tiny: want losses within 5e-04, got a relative difference of 1.0e-03 at step 2")
	out.Reset()
	require.NoError(t, Comparison{Name: "twins", Want: want, Got: want}.Write(&out))
	assert.Equal(t, "figure: twins: loss 5.5000 to 2.0000 in 3 steps, every loss and gradient norm has the same bits\n", out.String())
}

// TestCompareOfGradientNorms: with tolerance 0 gradient norms count, too.
func TestCompareOfGradientNorms(t *testing.T) {
	want, got := runOf(t, 3, 2), t.TempDir()
	write(t, got, "metrics.jsonl", `{"step":1,"loss":3,"grad_norm":6}
{"step":2,"loss":2,"grad_norm":4.0000001}
`)
	require.ErrorContains(t, Comparison{Want: want, Got: got}.Write(&bytes.Buffer{}), "of gradient norms 2.5e-08")
	require.NoError(t, Comparison{Want: want, Got: got, Tolerance: 1e-9}.Write(&bytes.Buffer{}))
}

func TestCompareRefuses(t *testing.T) {
	broken := t.TempDir()
	write(t, broken, "metrics.jsonl", `{"step":1,"loss":3,"grad_norm":null}`+"\n")
	empty := t.TempDir()
	write(t, empty, "metrics.jsonl", "")
	for want, runs := range map[string][2]string{
		"step 1: want a finite loss and gradient norm": {runOf(t, 3), broken},
		"want steps in metrics.jsonl, got none":        {empty, runOf(t, 3)},
		"want the 2 steps of":                          {runOf(t, 3, 2), runOf(t, 3)},
		"nowhere: want steps":                          {runOf(t, 3), filepath.Join(broken, "nowhere")},
	} {
		require.ErrorContains(t, Comparison{Want: runs[0], Got: runs[1], Tolerance: 1}.Write(&bytes.Buffer{}), want)
	}
}

// opsLog is what a test program says of passed, failed and skipped tests.
const opsLog = `=== RUN   TestDevice
=== RUN   TestDevice/Add
=== RUN   TestDevice/Add/fp32
=== RUN   TestDevice/Add/bf16
    device_test.go:60: 
        	Error:      	"0.03" is not less than or equal to "0.02"
=== RUN   TestDevice/Mix
--- FAIL: TestDevice (0.01s)
    --- FAIL: TestDevice/Add (0.01s)
        --- PASS: TestDevice/Add/fp32 (0.00s)
        --- FAIL: TestDevice/Add/bf16 (0.00s)
    --- SKIP: TestDevice/Mix (0.00s)
FAIL
`

// referencesLog has a group that ends before its cases.
const referencesLog = `=== RUN   TestReferences/rmt/float32
--- PASS: TestReferences (1.00s)
    --- PASS: TestReferences/rmt/float32 (0.01s)
    --- PASS: TestReferences/rmt/cuda_fp32 (0.01s)
    --- PASS: TestReferences/vwn/cuda_fp32 (0.01s)
PASS
`

// reportFolder is what run.sh leaves of some parts.
func reportFolder(t *testing.T) string {
	dir := t.TempDir()
	write(t, dir, "machine.txt", "NVIDIA G1\nPyTorch 9\n")
	write(t, dir, "parts.txt", "ops 0 9\nops 1 12\nreferences 0 3\nsteps 124 600\nsanitizer 77 0\nbench-bf16 0 40\n")
	write(t, dir, "ops.log", opsLog)
	write(t, dir, "references.log", referencesLog)
	write(t, dir, "steps.log", "figure: quickstart | fp32: the same\nnoise\n"+fence+"\nstep 1\nstep 2\n"+fence+"\nthe end")
	write(t, dir, "sanitizer.log", "figure: no compute-sanitizer\n")
	write(t, dir, "bench-bf16.log", fence+"\ntraining  tokens/s\n"+fence+"\n")
	return dir
}

func TestReport(t *testing.T) {
	dir := reportFolder(t)
	var out bytes.Buffer
	require.NoError(t, WriteReport(dir, &out))
	assert.Contains(t, out.String(), "report.md: failed: ops, steps\n")
	text, err := os.ReadFile(filepath.Join(dir, "report.md"))
	require.NoError(t, err)
	before, _, _ := strings.Cut(string(text), "=== RUN")
	assert.Equal(t, code(`# GPU check

FENCE
NVIDIA G1
PyTorch 9
FENCE

| part | result | seconds | figures |
|---|---|---|---|
| ops | **failed** | 12 | 1 tests passed, 1 failed, 1 skipped |
| references | passed | 3 | 3 tests passed, 0 failed, 0 skipped |
| steps | **out of time** | 600 | quickstart \| fp32: the same |
| sanitizer | skipped | 0 | no compute-sanitizer |
| bench-bf16 | passed | 40 |  |

## ops
- failed: 'TestDevice/Add/bf16': "0.03" is not less than or equal to "0.02"

FENCE
the end of ops.log:

`), before)
	assert.Contains(t, string(text), code("## steps\n\nFENCE\nstep 1\nstep 2\nFENCE\n\nFENCE\nthe end of steps.log:\n\nfigure: "))
	assert.Contains(t, string(text), code("## bench-bf16\n\nFENCE\ntraining  tokens/s\nFENCE\n"))
	assert.NotContains(t, string(text), "## references", "the table says all")
}

// TestResults: one part's are its figures and what it has in the report, all are figures.
func TestResults(t *testing.T) {
	dir := reportFolder(t)
	results := func(name string) string {
		var out bytes.Buffer
		require.NoError(t, WriteResults(dir, name, &out))
		return out.String()
	}
	assert.Equal(t, code("steps: **out of time**, 600 s\n  quickstart | fp32: the same\n\n## steps\n\nFENCE\nstep 1\nstep 2\nFENCE\n\nFENCE\nthe end of steps.log:\n\n"+
		"figure: quickstart | fp32: the same\nnoise\n'''\nstep 1\nstep 2\n'''\nthe end\nFENCE\n"), strings.ReplaceAll(results("steps"), "'''", "```"))
	all := results("")
	assert.Contains(t, all, "\nsanitizer: skipped, 0 s\n  no compute-sanitizer\nbench-bf16: passed, 40 s\n")
	assert.NotContains(t, all, "## ")
	require.ErrorContains(t, WriteResults(dir, "none", &bytes.Buffer{}), `want a part that has run, got "none"`)
}

// code is Markdown with its backticks, which a raw string cannot have.
func code(text string) string {
	return strings.NewReplacer("FENCE", fence, "'", "`").Replace(text)
}

func TestReportWhereNothingFailed(t *testing.T) {
	dir := reportFolder(t)
	write(t, dir, "parts.txt", "references 0 3\nsanitizer 77 0\n")
	var out bytes.Buffer
	require.NoError(t, WriteReport(dir, &out))
	assert.Contains(t, out.String(), "no part has failed")
	write(t, dir, "parts.txt", "references 0\n")
	require.ErrorContains(t, WriteReport(dir, &out), `parts.txt, line 1: want a name, an exit status and seconds, got "references 0"`)
}

// TestScriptListsItsParts: the script is one that a POSIX shell reads, and performs what it
// lists.
func TestScriptListsItsParts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell script")
	}
	list, err := exec.Command("sh", "run.sh", "-list").CombinedOutput()
	require.NoError(t, err, string(list))
	script, err := os.ReadFile("run.sh")
	require.NoError(t, err)
	_, perform, found := strings.Cut(string(script), "\nperform() {")
	require.True(t, found)
	lines := strings.Split(strings.TrimSpace(string(list)), "\n")
	seconds := map[string]int{}
	for _, line := range lines {
		fields := strings.Fields(line)
		assert.Contains(t, perform, "\n  "+fields[1]+") ")
		limit, err := strconv.Atoi(fields[2])
		require.NoError(t, err)
		seconds[fields[0]] += limit
	}
	require.Len(t, seconds, 3)
	for command, all := range seconds {
		assert.LessOrEqual(t, all, 540, "the parts of %s", command)
	}
	out, err := exec.Command("sh", "run.sh", "opps").CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "unknown part opps")
}
