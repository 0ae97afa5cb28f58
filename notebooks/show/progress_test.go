package show

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/trainer"
)

// drawing is a kernel's Display that records what is shown.
type drawing struct {
	texts []string
	ids   map[any]bool
	err   error
}

func (d *drawing) display(r Rendered) error {
	if d.ids == nil {
		d.ids = map[any]bool{}
	}
	d.texts = append(d.texts, r.Data["text/plain"].(string))
	d.ids[r.Transient["display_id"]] = true
	return d.err
}

// at sets a line's clock; the pointer moves it.
func at(l *line) *time.Time {
	now := time.Unix(1000, 0)
	l.now = func() time.Time { return now }
	l.begin(l.first, l.total)
	return &now
}

func TestALineOfProgressChangesInItsPlaceAndEndsTheSameEachTime(t *testing.T) {
	d := &drawing{}
	l := newLine(d.display)
	l.total = 100
	now := at(l)
	for done := 1; done <= 100; done++ {
		*now = now.Add(100 * time.Millisecond)
		require.NoError(t, l.step(done, 2.5))
	}
	require.Equal(t, "["+strings.Repeat(" ", 20)+"] 1 of 100 steps, loss 2.5, 10s left", d.texts[0])
	require.Equal(t, "[==========          ] 51 of 100 steps, loss 2.5, 5s left", d.texts[25])
	require.Equal(t, "100 of 100 steps", d.texts[len(d.texts)-1])
	require.Len(t, d.texts, 51, "not more than five times a second")
	require.Len(t, d.ids, 1)
}

func TestTrainingShowsWhereARunStands(t *testing.T) {
	d := &drawing{}
	report := Training(d.display)
	now := at(report.(*training).line)
	report.Start(40, 100)
	*now = now.Add(time.Second)
	report.Step(trainer.Metrics{Step: 50, Loss: 1.25})
	report.Note("a checkpoint")
	report.Finish()
	require.Equal(t, []string{"40 of 100 steps", "[==========          ] 50 of 100 steps, loss 1.25, 5s left", "50 of 100 steps"}, d.texts)
}

func TestProgressOfLoopsFailsWhereNothingCanBeShown(t *testing.T) {
	d := &drawing{}
	progress := Progress(d.display)
	require.NoError(t, progress(1, 2, 3))
	require.NoError(t, progress(2, 2, 3))
	require.NoError(t, progress(1, 3, 3), "another loop")
	require.Len(t, d.ids, 1)
	d.err = errors.New("interrupted")
	require.Equal(t, d.err, progress(3, 3, 3))
}
