package optim

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	_ Schedule = WarmupCosine{}
	_ Schedule = WarmupStableDecay{}
	_ Schedule = Constant{}
)

func factors(s Schedule, steps int) []float64 {
	out := make([]float64, steps)
	for step := range out {
		out[step] = s.Factor(step)
	}
	return out
}

func TestScheduleFactors(t *testing.T) {
	const third, tenth = 1.0 / 3, 0.1
	cases := []struct {
		name string
		s    Schedule
		want []float64
	}{
		{"cosine", WarmupCosine{Warmup: 3, Total: 12, Min: tenth}, []float64{0, third, 2 * third, 1, 0.9728616794, 0.8947199994, 0.775, 0.6281416800, 0.4718583200, 0.325, 0.2052800006, 0.1271383206, tenth, tenth}},
		{"cosine from one", WarmupCosine{Warmup: 3, Total: 12, Min: tenth, WarmupFromOne: true}, []float64{third, 2 * third, 1, 1, 0.9728616794}},
		{"cosine without warmup", WarmupCosine{Total: 2}, []float64{1, 0.5, 0, 0}},
		{"cosine all warmup", WarmupCosine{Warmup: 2, Total: 2, Min: 0.5}, []float64{0, 0.5, 0.5, 0.5}},
		{"stable", WarmupStableDecay{Warmup: 2, Total: 8, Decay: 4, Min: 0.2}, []float64{0, 0.5, 1, 1, 1, 0.8, 0.6, 0.4, 0.2, 0.2}},
		{"stable from one", WarmupStableDecay{Warmup: 2, Total: 8, Decay: 4, WarmupFromOne: true}, []float64{0.5, 1, 1, 1, 1, 0.75, 0.5, 0.25, 0}},
		{"stable all decay", WarmupStableDecay{Total: 4, Decay: 4}, []float64{1, 0.75, 0.5, 0.25, 0}},
		{"constant", Constant{Warmup: 2}, []float64{0, 0.5, 1, 1}},
		{"constant from one", Constant{Warmup: 2, WarmupFromOne: true}, []float64{0.5, 1, 1}},
		{"constant without warmup", Constant{WarmupFromOne: true}, []float64{1, 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.InDeltaSlice(t, c.want, factors(c.s, len(c.want)), 1e-10) // the numbers above have 10 digits
		})
	}
}

// The reference training computed its schedule in float32, which differs from the equation by up to
// 8e-8.
func TestWarmupCosineAgainstReferenceTraining(t *testing.T) {
	text, err := os.ReadFile("../testdata/reference/rmt-official/expected.json")
	require.NoError(t, err)
	var expected struct {
		Training struct {
			WarmupSteps int `json:"warmup_steps"`
			TotalSteps  int `json:"total_steps"`
			Steps       []struct {
				Step     int
				Schedule float64
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &expected))
	training := expected.Training
	require.Len(t, training.Steps, 12)
	s := WarmupCosine{Warmup: training.WarmupSteps, Total: training.TotalSteps, Min: 0.1}
	for _, step := range training.Steps {
		assert.InDelta(t, step.Schedule, s.Factor(step.Step), 1e-7, "step %d", step.Step)
	}
}

func TestScheduleMeetsItsEndsExactly(t *testing.T) {
	for _, minimum := range []float64{0, 0.1, 1.0 / 3, 0.7, 1} {
		for _, s := range []Schedule{
			WarmupCosine{Warmup: 7, Total: 1000, Min: minimum},
			WarmupStableDecay{Warmup: 7, Total: 1000, Decay: 100, Min: minimum},
		} {
			name := fmt.Sprintf("%T min %v", s, minimum)
			assert.Zero(t, s.Factor(0), name)
			assert.Equal(t, s.Factor(0), s.Factor(-5), name)
			assert.Equal(t, 1.0, s.Factor(7), name)
			assert.Equal(t, minimum, s.Factor(1000), name)
			assert.Equal(t, minimum, s.Factor(math.MaxInt), name)
			for step := range 1000 {
				f := s.Factor(step)
				require.True(t, f >= 0 && f <= 1, "%s step %d: %v", name, step, f)
				if step >= 7 {
					require.GreaterOrEqual(t, f, s.Factor(step+1), "%s falls after the warmup, step %d", name, step)
					require.GreaterOrEqual(t, f, minimum-1e-15, "%s step %d", name, step)
				}
			}
		}
	}
}

// kinds returns the schedules by their names.
func kinds() map[string]interface {
	With(ScheduleOptions) (Schedule, error)
} {
	return map[string]interface {
		With(ScheduleOptions) (Schedule, error)
	}{WarmupCosine{}.Name(): WarmupCosine{}, WarmupStableDecay{}.Name(): WarmupStableDecay{}, Constant{}.Name(): Constant{}}
}

func TestWith(t *testing.T) {
	o := ScheduleOptions{Warmup: 3, Total: 12, Min: 0.1, Decay: 4, WarmupFromOne: true}
	for name, want := range map[string]Schedule{"warmup-cosine": WarmupCosine(o), "constant": Constant(o), "warmup-stable-decay": WarmupStableDecay(o)} {
		s, err := kinds()[name].With(o)
		require.NoError(t, err)
		assert.Equal(t, want, s)
	}
}

func TestWithRefuses(t *testing.T) {
	nan := math.NaN()
	cases := []struct {
		name string
		o    ScheduleOptions
		want string
	}{
		{"warmup-cosine", ScheduleOptions{Warmup: -1, Total: 4}, "warmup: want >= 0 steps, got -1"},
		{"constant", ScheduleOptions{Warmup: -1}, "warmup: want >= 0 steps, got -1"},
		{"warmup-cosine", ScheduleOptions{}, "total: want >= 1 step, got 0"},
		{"warmup-cosine", ScheduleOptions{Warmup: 5, Total: 4}, "warmup of 5 steps is longer than the total of 4"},
		{"warmup-cosine", ScheduleOptions{Total: 4, Min: -0.1}, "in [0, 1], got -0.1"},
		{"warmup-cosine", ScheduleOptions{Total: 4, Min: 1.1}, "in [0, 1], got 1.1"},
		{"warmup-cosine", ScheduleOptions{Total: 4, Min: nan}, "in [0, 1], got NaN"},
		{"warmup-stable-decay", ScheduleOptions{Total: 4}, "decay: want >= 1 step, got 0"},
		{"warmup-stable-decay", ScheduleOptions{Total: 4, Decay: -1}, "decay: want >= 1 step, got -1"},
		{"warmup-stable-decay", ScheduleOptions{Total: 4, Warmup: 2, Decay: 3}, "warmup 2 and decay 3 take more than the total of 4"},
		{"warmup-stable-decay", ScheduleOptions{Total: 4, Decay: 1, Min: 2}, "in [0, 1], got 2"},
	}
	for _, c := range cases {
		_, err := kinds()[c.name].With(c.o)
		assert.ErrorContains(t, err, c.want, "%s %+v", c.name, c.o)
	}
}
