package trainer_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/trainer"
)

// TestReportersWorkFromTheirFirstCall: calls before Start and after Finish are not lost and crash
// nothing.
func TestReportersWorkFromTheirFirstCall(t *testing.T) {
	var out bytes.Buffer
	for name, r := range map[string]trainer.Reporter{
		"lines": trainer.NewLines(&out, 0), "bar": trainer.NewBar(&out), "json": trainer.NewJSONLines(&bytes.Buffer{}, &out), "silent": trainer.Silent{},
	} {
		t.Run(name, func(t *testing.T) {
			out.Reset()
			r.Note("news before")
			r.Warn("trouble before")
			r.Start(2, 4)
			r.Note("news within")
			r.Step(trainer.Metrics{Step: 3, Loss: 1.5})
			r.Step(trainer.Metrics{Step: 4, Loss: 1.25})
			r.Warn("trouble within")
			r.Finish()
			r.Note("news after")
			r.Warn("trouble after")
			wanted := map[string][]string{
				"lines": {"news before\n", "warning: trouble before\n", "news within\n", "step 3/4  loss 1.5000", "step 4/4  loss 1.2500", "warning: trouble within\n", "news after\n", "warning: trouble after\n"},
				"bar":   {"news before\n", "warning: trouble before\n", "news within\n", "step 4/4", "loss 1.2500", "warning: trouble within\n", "news after\n", "warning: trouble after\n"},
				"json":  {"warning: trouble before\nwarning: trouble within\nwarning: trouble after\n"},
			}
			for _, text := range wanted[name] {
				assert.Contains(t, out.String(), text)
			}
			if name == "silent" {
				assert.Empty(t, out.String())
			}
		})
	}
}

// TestReportersFinishWithoutAStart: an error before the first step also ends a run.
func TestReportersFinishWithoutAStart(t *testing.T) {
	for _, r := range []trainer.Reporter{trainer.NewLines(&bytes.Buffer{}, 0), trainer.NewBar(&bytes.Buffer{}), trainer.NewJSONLines(&bytes.Buffer{}, &bytes.Buffer{})} {
		assert.NotPanics(t, r.Finish)
	}
}

// TestLinesComeByTime: if no number of steps is set, the first and the last step get a line, and a
// step between them when enough time has passed.
func TestLinesComeByTime(t *testing.T) {
	steps := func(every int, interval time.Duration) string {
		var out bytes.Buffer
		lines := trainer.NewLines(&out, every)
		trainer.SetLinesInterval(lines, interval)
		lines.Start(0, 100)
		for step := 1; step <= 100; step++ {
			lines.Step(trainer.Metrics{Step: step, Skipped: step == 50})
		}
		var seen []string
		for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			seen = append(seen, strings.TrimSuffix(strings.Fields(line)[1], "/100"))
		}
		return strings.Join(seen, " ")
	}
	assert.Equal(t, "1 50 100", steps(0, time.Hour))
	assert.Len(t, strings.Fields(steps(0, 0)), 100)
	assert.Equal(t, "30 50 60 90 100", steps(30, 0))
}

// TestLinesTellTheTime: each line says how long the run has taken and, except for the last one, how
// long the rest will take at the mean speed since Start.
func TestLinesTellTheTime(t *testing.T) {
	var out bytes.Buffer
	lines := trainer.NewLines(&out, 1)
	lines.Start(50, 100)
	trainer.AgeLines(lines, 90*time.Second)
	lines.Step(trainer.Metrics{Step: 60})
	trainer.AgeLines(lines, 2*time.Hour)
	lines.Step(trainer.Metrics{Step: 100})
	first, second, _ := strings.Cut(out.String(), "\n")
	assert.Contains(t, first, "  1m30s elapsed, 6m0s left")
	assert.Contains(t, second, "  2h02m elapsed\n")
}

// TestNumbersHaveNoExponent: rates and times that round up to the next unit are written in it.
func TestNumbersHaveNoExponent(t *testing.T) {
	for rate, want := range map[float64]string{999.4: "  999 tokens/s", 999.6: "  1 k tokens/s", 999_499: "  999 k tokens/s", 999_500: "  1 M tokens/s"} {
		var out bytes.Buffer
		trainer.NewLines(&out, 1).Step(trainer.Metrics{Step: 1, TokensPS: rate})
		assert.Contains(t, out.String(), want)
	}
	for seconds, want := range map[float64]string{0.123: "about 0.12 s", 99.4: "about 99 s", 99.6: "about 2 min"} {
		assert.Contains(t, trainer.Estimate{Time: time.Duration(seconds * float64(time.Second))}.String(), want)
	}
}
