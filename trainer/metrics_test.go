package trainer_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/trainer"
)

// resumeWith trains 9 steps, changes metrics.jsonl, and resumes until step 12.
func resumeWith(t *testing.T, change func(lines []string) string) (out, before string, report *listener) {
	t.Helper()
	text := corpus(t)
	out = filepath.Join(t.TempDir(), "run")
	interrupt(t, smallest(t, text, out), 9, trainer.Options{})
	path := filepath.Join(out, "metrics.jsonl")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	before = change(strings.SplitAfter(string(content), "\n"))
	require.NoError(t, os.WriteFile(path, []byte(before), 0o644))
	report = &listener{}
	train(t, smallest(t, text, out), trainer.Options{Resume: trainer.ResumeAuto, Report: report})
	return out, before, report
}

// stepsIn returns the steps in metrics.jsonl.
func stepsIn(t *testing.T, out string) (steps []int) {
	t.Helper()
	lines, err := trainer.ReadMetrics(out)
	require.NoError(t, err)
	for _, m := range lines {
		steps = append(steps, m.Step)
	}
	return steps
}

func TestMetricsSurviveUnreadableLines(t *testing.T) {
	for name, line := range map[string]string{"no JSON": "{\"step\":4,\"tok\n", "zeros": "\x00\x00\x00\n", "out of order": "{\"step\":2}\n", "empty": "\n"} {
		t.Run(name, func(t *testing.T) {
			out, before, report := resumeWith(t, func(lines []string) string {
				lines[3] = line
				return strings.Join(lines, "")
			})
			require.Equal(t, []int{1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12}, stepsIn(t, out))
			aside, err := filepath.Glob(filepath.Join(out, "metrics.damaged-*.jsonl"))
			require.NoError(t, err)
			require.Len(t, aside, 1)
			kept, err := os.ReadFile(aside[0])
			require.NoError(t, err)
			require.Equal(t, before, string(kept), "the file as it was")
			require.Len(t, report.warnings, 2)
			require.Contains(t, report.warnings[0], "1 line cannot be read")
			require.Contains(t, report.warnings[0], aside[0])
			require.Contains(t, report.warnings[1], "no line for 1 of the 8 steps")
		})
	}
}

func TestMissingMetricsAreNoticed(t *testing.T) {
	out, _, report := resumeWith(t, func(lines []string) string { return strings.Join(lines[:5], "") })
	require.Equal(t, []int{1, 2, 3, 4, 5, 9, 10, 11, 12}, stepsIn(t, out), "the checkpoint has its own step's line")
	require.Len(t, report.warnings, 1)
	require.Contains(t, report.warnings[0], "no line for 3 of the 8 steps")
	aside, err := filepath.Glob(filepath.Join(out, "metrics.damaged-*"))
	require.NoError(t, err)
	require.Empty(t, aside)
}

// Expert counts of many layers make long lines.
func TestMetricsLinesMayBeLong(t *testing.T) {
	long := strings.Repeat(" ", 200_000)
	out, _, report := resumeWith(t, func(lines []string) string {
		lines[4] = strings.Replace(lines[4], `,"loss"`, long+`,"loss"`, 1)
		return strings.Join(lines, "")
	})
	require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, stepsIn(t, out))
	require.Empty(t, report.warnings)
	content, err := os.ReadFile(filepath.Join(out, "metrics.jsonl"))
	require.NoError(t, err)
	require.Contains(t, string(content), long, "what can be read stays as it is")
}

func TestWhatIsOptionalNeverEndsARun(t *testing.T) {
	text := corpus(t)
	t.Run("damaged best.json", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "run")
		report := &listener{}
		report.onNote = func(line string) {
			if strings.Contains(line, "validation loss") {
				require.NoError(t, os.WriteFile(filepath.Join(out, "best.json"), []byte("damaged"), 0o644))
			}
		}
		r := train(t, smallest(t, text, out), trainer.Options{Report: report})
		require.Equal(t, 12, r.Steps)
		step, loss := bestOf(t, out)
		dir, marked, err := checkpoint.Best(out)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("step-%08d", step), filepath.Base(dir))
		require.Equal(t, loss, marked)
	})
	t.Run("no picture", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "run")
		require.NoError(t, os.MkdirAll(filepath.Join(out, "loss.svg"), 0o755))
		report := &listener{}
		r := train(t, smallest(t, text, out), trainer.Options{Report: report})
		require.Equal(t, 12, r.Steps)
		require.Contains(t, report.warnings[0], "loss.svg")
	})
	t.Run("old checkpoints stay", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "run")
		disk := checkpoint.Disk{Before: func(step, path string) error {
			if step == "remove" {
				return errors.Wrap(syscall.EACCES, path)
			}
			return nil
		}}
		report := &listener{}
		tr, err := trainer.OpenOn(context.Background(), smallest(t, text, out), trainer.Options{Report: report}, disk)
		require.NoError(t, err)
		defer tr.Close()
		_, err = tr.Run(context.Background())
		require.NoError(t, err)
		require.Contains(t, report.warnings[0], "old checkpoints stay: ")
		require.NoError(t, checkpoint.Verify(filepath.Join(out, "checkpoints", "step-00000012")))
	})
}

func TestTheLossHistoryIsBounded(t *testing.T) {
	const steps = 1_000_003
	var h trainer.LossHistory
	for i := 1; i <= steps; i++ {
		m := trainer.Metrics{Step: i, Tokens: int64(2 * i), Loss: 3, Experts: [][]int{make([]int, 500)}}
		if i%2 == 0 {
			m.Loss = 5
		}
		if i%100 == 0 {
			loss := m.Loss
			m.ValLoss = &loss
		}
		h.Add(m)
	}
	training, validation := h.Points()
	require.LessOrEqual(t, len(training), 2048)
	require.Greater(t, len(training), 1000)
	require.LessOrEqual(t, len(validation), 2049)
	require.Greater(t, len(validation), 1000)
	require.Equal(t, [2]float64{2 * steps, 5}, [2]float64{training[len(training)-1][0], validation[len(validation)-1][1]})
	require.EqualValues(t, 2*steps/100*100, validation[len(validation)-1][0])
	require.Equal(t, 4.0, training[0][1], "means of groups")
}

// Standard output has only metrics; warnings go elsewhere.
func TestJSONLinesKeepsWarnings(t *testing.T) {
	var out, warnings bytes.Buffer
	text, run := corpus(t), filepath.Join(t.TempDir(), "run")
	first := train(t, smallest(t, text, run), trainer.Options{})
	require.NoError(t, os.WriteFile(filepath.Join(first.Checkpoint, "model.safetensors"), []byte("damaged"), 0o644))
	r := train(t, smallest(t, text, run), trainer.Options{Resume: trainer.ResumeAuto, Report: trainer.NewJSONLines(&out, &warnings)})
	require.NotNil(t, r.Final)
	require.Contains(t, warnings.String(), "warning: ")
	require.Contains(t, warnings.String(), "step-00000012")
	require.NotContains(t, out.String(), "warning")
}

// A finished run that is resumed does nothing but report how it ended.
func TestAFinishedRunTellsItsScoreAgain(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	first := train(t, smallest(t, text, out), trainer.Options{})
	before := losses(t, out)
	again := train(t, smallest(t, text, out), trainer.Options{Resume: trainer.ResumeAuto})
	require.Equal(t, first, again)
	require.Equal(t, before, losses(t, out))

	more := smallest(t, text, out, "train.eval_tokens=128")
	r := train(t, more, trainer.Options{Resume: trainer.ResumeAuto})
	require.Equal(t, 128, r.Final.Tokens, "another number of tokens is another score")
	require.Len(t, losses(t, out), 12)
}
