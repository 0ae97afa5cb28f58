package trainer_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/trainer"
)

// TestACollapseIsFound: a run has collapsed when the gradient is 0 three times in a row, or when
// the loss equals the loss of guessing (log 256 = 5.545) a hundred times in a row.
func TestACollapseIsFound(t *testing.T) {
	type run struct {
		steps          int
		loss, gradNorm float64
	}
	for name, c := range map[string]struct {
		runs  []run
		news  []int
		stuck bool
	}{
		"learns":                  {[]run{{50, 5.54, 1}, {300, 3, 1}}, nil, false},
		"gradient of 0":           {[]run{{50, 3, 1}, {10, 5.545, 0}}, []int{53}, true},
		"gradient of 0 for a bit": {[]run{{50, 3, 1}, {2, 5.545, 0}, {9, 5.545, 1}}, nil, false},
		"learned by heart":        {[]run{{50, 1e-9, 0}}, nil, false},
		"guessing for long":       {[]run{{250, 5.545, 1}}, []int{100}, true},
		"late":                    {[]run{{150, 5.545, 1}, {30, 3, 1}}, []int{100}, false},
		"diverged":                {[]run{{150, 100, 1}}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			detector := trainer.NewStuck(256, 500)
			var news []int
			step := 0
			for _, r := range c.runs {
				for range r.steps {
					step++
					if text := detector.Add(trainer.Metrics{Step: step, Loss: eval.Number(r.loss), GradNorm: eval.Number(r.gradNorm)}); text != "" {
						news = append(news, step)
					}
				}
			}
			assert.Equal(t, c.news, news)
			assert.Equal(t, c.stuck, detector.Now())
		})
	}
}

// TestACollapseIsSaidWhileItHappens: a warning reports a collapse at once, and so does the result.
func TestACollapseIsSaidWhileItHappens(t *testing.T) {
	var heard listener
	r := train(t, smallest(t, corpus(t), filepath.Join(t.TempDir(), "run"), "train.steps=110", "train.lr=1e-9", "train.eval_every=0"), trainer.Options{Report: &heard})
	require.Len(t, heard.warnings, 1)
	assert.True(t, strings.HasPrefix(heard.warnings[0], "step 100: nothing is learned: for 100 steps the loss, now 5.5"), heard.warnings[0])
	assert.True(t, r.Collapsed)
}
