package trainer_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/trainer"
)

// TestSpikes: a loss that jumps far above the losses before it is a spike: on the validation text
// at once, on batches when two in a row do. Noise, a falling loss, and one odd batch are no spikes.
func TestSpikes(t *testing.T) {
	repeat := func(n int, losses ...float64) (all []float64) {
		for range n {
			all = append(all, losses...)
		}
		return all
	}
	noise := repeat(20, 3.9, 3.7, 4.1, 3.8, 3.6)
	falling := []float64{5.5, 5.0, 4.4, 4.1, 4.0, 3.8, 3.7, 3.7, 3.9, 3.7, 3.6, 3.6, 3.5, 3.5, 3.4}
	for name, c := range map[string]struct {
		losses               []float64
		training, validation []int // the losses at which there is news
	}{
		"noise":          {losses: noise},
		"falling":        {losses: falling},
		"a spike":        {slices.Concat(noise, []float64{10.6, 9.6, 7.0, 3.7, 3.8}), []int{101}, []int{100}},
		"one odd batch":  {slices.Concat(noise, []float64{7, 3.8, 3.9}), nil, []int{100}},
		"two spikes":     {slices.Concat(noise, []float64{9, 9, 9}, noise, []float64{9, 9}), []int{101, 204}, []int{100, 203}},
		"it stays":       {slices.Concat(noise, repeat(100, 9, 9.1)), []int{101}, []int{100}},
		"early":          {[]float64{4.1, 4, 9, 9, 9}, nil, []int{2}},
		"learned":        {append(repeat(30, 0.010, 0.011), 0.05, 0.05, 0.5, 0.5), []int{63}, []int{62}},
		"not finite":     {slices.Concat(noise, []float64{math.NaN(), math.Inf(1), 3.8}), nil, nil},
		"a small change": {slices.Concat(noise, []float64{4.6, 4.6, 4.6}), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			training, validation := trainer.NewSpikes()
			var got [2][]int
			for i, loss := range c.losses {
				for j, s := range []*trainer.Spikes{&training, &validation} {
					if _, news := s.Add(i, loss); news != "" {
						got[j] = append(got[j], i)
					}
				}
			}
			require.Equal(t, [2][]int{c.training, c.validation}, got)
		})
	}
}

// TestOddBatchesAreNotCounted: the end of a run tells of the spikes that lines have warned of, from
// their first loss on, and not of single batches.
func TestOddBatchesAreNotCounted(t *testing.T) {
	usual := slices.Repeat([]float64{3.9, 3.7, 4.1}, 10)
	spikes, last := trainer.CountSpikes(slices.Concat(usual, []float64{7}, usual, []float64{9, 9, 9}, usual, []float64{8})...)
	require.Equal(t, []int{1, 61}, []int{spikes, last})
	spikes, last = trainer.CountSpikes(slices.Concat(usual, []float64{9, 9}, usual, []float64{9, 9, 9})...)
	require.Equal(t, []int{2, 62}, []int{spikes, last})
}

// TestASpikeIsSaidWhileItHappens: a line and the metrics report a spike while it lasts, also in a
// run that is interrupted then.
func TestASpikeIsSaidWhileItHappens(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	sets := []string{"train.schedule=constant", "train.warmup=0", "train.eval_every=2"}
	train(t, smallest(t, text, out, append(sets, "train.steps=40")...), trainer.Options{})
	stopped := filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.CopyFS(stopped, os.DirFS(out)))

	var heard listener
	hot := append(sets, "train.steps=46", "train.lr=10")
	train(t, smallest(t, text, out, hot...), trainer.Options{Resume: trainer.ResumeAuto, Report: &heard})
	spike := regexp.MustCompile(`^step \d+: a spike: the (validation )?loss is \S+, it was about \d\.\d+; where it stays so, or comes again, a lower train\.lr or a longer train\.warmup helps$`)
	var news []string
	for _, w := range heard.warnings {
		if strings.Contains(w, "spike") {
			require.Regexp(t, spike, w)
			news = append(news, w)
		}
	}
	require.Len(t, news, 2, "%v", heard.warnings)
	lines, err := trainer.ReadMetrics(out)
	require.NoError(t, err)
	for _, m := range lines {
		require.Equal(t, m.Step > 41, m.Spike, "step %d: loss %g", m.Step, float64(m.Loss))
	}

	interrupt(t, smallest(t, text, stopped, hot...), 42, trainer.Options{Resume: trainer.ResumeAuto})
	train(t, smallest(t, text, stopped, hot...), trainer.Options{Resume: trainer.ResumeAuto})
	again, err := trainer.ReadMetrics(stopped)
	require.NoError(t, err)
	for i, m := range again {
		require.Equal(t, lines[i].Spike, m.Spike, "step %d", m.Step)
	}
}
