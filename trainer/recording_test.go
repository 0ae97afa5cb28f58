package trainer_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// diary is a Recorder that writes down, for each run, which steps it is given.
type diary struct {
	refuses error // of Open
	fails   int   // the step at which Step returns an error
	pages   []*page
}

// page is a diary's Recording of one run.
type page struct {
	diary  *diary
	out    string
	steps  []int // all
	saved  []int // those that have a checkpoint by then
	scored []int // those that have a validation loss by then
	closed bool
}

func (d *diary) Name() string { return "diary" }

func (d *diary) Open(t *trainer.Trainer) (trainer.Recording, error) {
	if d.refuses != nil {
		return nil, d.refuses
	}
	p := &page{diary: d, out: t.Config().Out}
	d.pages = append(d.pages, p)
	return p, nil
}

func (p *page) Step(_ context.Context, m *trainer.Metrics) error {
	p.steps = append(p.steps, m.Step)
	if _, err := os.Stat(checkpoint.StepPath(p.out, m.Step)); err == nil {
		p.saved = append(p.saved, m.Step)
	}
	if m.ValLoss != nil {
		p.scored = append(p.scored, m.Step)
	}
	if m.Step == p.diary.fails {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (p *page) Close() error {
	p.closed = true
	return nil
}

// recorded returns the smallest run, which the Recorders record.
func recorded(t *testing.T, out string, recorders []models.Kind, sets ...string) *runconfig.Run {
	t.Helper()
	sets = append([]string{"data.path=[" + corpus(t) + "]", "out=" + out}, sets...)
	run, _, err := runconfig.Parse(models.Standard().WithKinds(recorders...), "small.yaml", []byte(smallYAML), sets)
	require.NoError(t, err)
	return run
}

// TestRecorderOfAnotherModule: a Recorder that a zoo lists is given each step after its checkpoint
// and its validation, and the step at which a run is resumed.
func TestRecorderOfAnotherModule(t *testing.T) {
	out, d := filepath.Join(t.TempDir(), "run"), &diary{}
	interrupt(t, recorded(t, out, []models.Kind{d}), 5, trainer.Options{})
	train(t, recorded(t, out, []models.Kind{d}), trainer.Options{Resume: trainer.ResumeAuto})
	require.Len(t, d.pages, 2)
	assert.Equal(t, &page{diary: d, out: out, steps: []int{1, 2, 3, 4, 5}, saved: []int{3, 4}, scored: []int{4}, closed: true}, d.pages[0])
	assert.Equal(t, &page{diary: d, out: out, steps: []int{5, 6, 7, 8, 9, 10, 11, 12}, saved: []int{5, 6, 8, 9, 12}, scored: []int{8, 12}, closed: true}, d.pages[1])

	dry, err := trainer.Open(t.Context(), recorded(t, out, []models.Kind{d}), trainer.Options{Dry: true})
	require.NoError(t, err)
	dry.Close()
	require.Len(t, d.pages, 2, "nothing is recorded where nothing is trained")
}

// TestRecorderThatFails: its error ends the run, once the other Recorders have the step; the run
// can be resumed.
func TestRecorderThatFails(t *testing.T) {
	out, d, after := filepath.Join(t.TempDir(), "run"), &diary{fails: 7}, &diary{}
	_, err := tryTrain(t.Context(), recorded(t, out, []models.Kind{d, after}), trainer.Options{})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Equal(t, []int{1, 2, 3, 4, 5, 6, 7}, after.pages[0].steps)
	assert.True(t, d.pages[0].closed && after.pages[0].closed)
	d.fails, d.refuses = 0, io.ErrNoProgress
	_, err = tryTrain(t.Context(), recorded(t, out, []models.Kind{after, d}), trainer.Options{Resume: trainer.ResumeAuto})
	require.ErrorIs(t, err, io.ErrNoProgress)
	assert.ErrorContains(t, err, "diary: ")
	assert.True(t, after.pages[1].closed)
	d.refuses = nil
	train(t, recorded(t, out, []models.Kind{d}), trainer.Options{Resume: trainer.ResumeAuto})
	assert.Len(t, losses(t, out), 12)
}

// TestRecordersOfARunThatGivesUp: they are given the last step, of which no sample is made.
func TestRecordersOfARunThatGivesUp(t *testing.T) {
	out, d := filepath.Join(t.TempDir(), "run"), &diary{}
	run := recorded(t, out, []models.Kind{d}, "train.z_loss=1e45", "train.max_bad_steps=3", "train.tensorboard=true", "sample={tokens: 3, every: 3}")
	_, err := tryTrain(t.Context(), run, trainer.Options{})
	var diverged *trainer.DivergedError
	require.ErrorAs(t, err, &diverged)
	assert.Equal(t, []int{1, 2, 3}, d.pages[0].steps)
	assert.Len(t, records(t, out), 1+3, "the version, steps")
	samples, err := trainer.ReadSamples(out)
	require.NoError(t, err)
	assert.Empty(t, samples)
}
