package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
)

// inProcess makes a worker whose answers come from serve, in a goroutine of the test.
func inProcess(name string, serve func(in io.Reader, out io.Writer)) (*worker, error) {
	in, input := io.Pipe()
	output, out := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(in, out)
		_, _ = in.Close(), out.Close()
	}()
	w := &worker{name: name, input: input, replies: json.NewDecoder(output), stderr: &tail{}}
	w.wait = func() error {
		_ = output.Close()
		<-done
		return nil
	}
	return w, nil
}

// playing makes a worker that reports the given seconds for each step, and ends after most answers
// (below 0: never).
func playing(j job, seconds float64, most int) (*worker, error) {
	return playingModel(j, 5, seconds, most, func() {})
}

// playingModel does the same, and reports a number of parameters after its warm-up.
func playingModel(j job, parameters int, seconds float64, most int, warmUp func()) (*worker, error) {
	return inProcess(j.title(), func(in io.Reader, out io.Writer) {
		warmUp()
		fmt.Fprintf(out, `{"facts": {"parameters": %d, "traffic_bytes": 100, "version": "torch 0"}}`+"\n", parameters)
		for lines := bufio.NewScanner(in); most != 0 && lines.Scan(); most-- {
			var n int
			_, _ = fmt.Sscan(lines.Text(), &n)
			r := reply{Peak: 1 << 20}
			for range n {
				r.Seconds = append(r.Seconds, seconds)
			}
			_ = json.NewEncoder(out).Encode(r)
		}
	})
}

// played returns a Bench of two rounds whose workers are made by start; saved is the last report
// that Save got.
func played(t *testing.T, start func(ctx context.Context, j job) (*worker, error)) (b *Bench, saved *Report) {
	t.Helper()
	saved = &Report{}
	b, err := New(Options{Rounds: 2, Steps: 3, Target: Target{Threads: 1}, PyTorch: &PyTorch{}, Save: func(r *Report) error {
		text, err := json.Marshal(r)
		require.NoError(t, err)
		*saved = Report{}
		return json.Unmarshal(text, saved)
	}})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	b.report.Machine = &Machine{GPU: "none is measured", PeakGFLOPS: 1}
	b.start = start
	return b, saved
}

func chosen(t *testing.T, names ...string) []Workload {
	t.Helper()
	chosen, err := Choose(models.Standard(), names, Size{Seq: 8})
	require.NoError(t, err)
	return chosen
}

// TestJobsAreServed: a child trains a job in the form in which the parent sends it, and its answers
// are in the form that the parent reads.
func TestJobsAreServed(t *testing.T) {
	b, saved := played(t, func(_ context.Context, j job) (*worker, error) {
		j, err := j.encoded()
		require.NoError(t, err)
		text, err := json.Marshal(j)
		require.NoError(t, err)
		return inProcess(j.title(), func(in io.Reader, out io.Writer) { runJob(models.Standard(), string(text), in, out) })
	})
	require.NoError(t, b.Models(context.Background(), chosen(t, "byte-transformer")))
	require.NoError(t, b.Report().Err())
	require.Len(t, saved.Models, 1)
	assert.Equal(t, 6, saved.Models[0].Steps)
	assert.Positive(t, saved.Models[0].TokensPS)
}

// TestOneModelThatFails at its start or between its turns: the others are measured, and the error
// says which failed.
func TestOneModelThatFails(t *testing.T) {
	for _, atStart := range []bool{true, false} {
		b, saved := played(t, func(_ context.Context, j job) (*worker, error) {
			switch {
			case j.Name != "byte-rmt":
				return playing(j, 0.5, -1)
			case atStart:
				return nil, errors.New("out of memory")
			}
			return playing(j, 0.25, 1)
		})
		require.NoError(t, b.Models(context.Background(), chosen(t, "byte-rmt", "byte-transformer", "rmt-46m")))
		require.Len(t, saved.Models, 2)
		assert.Equal(t, []string{"byte-transformer", "rmt-46m"}, []string{saved.Models[0].Name, saved.Models[1].Name})
		assert.Equal(t, 6, saved.Models[0].Steps)
		assert.Empty(t, saved.Sizes, "the transformer alone is no comparison")
		require.Len(t, saved.Failures, 1)
		assert.Equal(t, "Residua byte-rmt", saved.Failures[0].Name)
		assert.ErrorContains(t, b.Report().Err(), saved.Failures[0].Error)
	}
}

// TestOnePyTorchThatFails: its row is missing, and those of the other mode and models exist.
func TestOnePyTorchThatFails(t *testing.T) {
	b, saved := played(t, func(_ context.Context, j job) (*worker, error) {
		if j.Implementation == Compiled && j.Name == "byte-rmt" {
			return nil, errors.New("no compiler")
		}
		return playing(j, 0.5, -1)
	})
	require.NoError(t, b.Baselines(context.Background(), chosen(t, "byte-rmt", "byte-transformer")))
	require.Len(t, saved.PyTorch, 2)
	assert.Len(t, saved.PyTorch[0].Baselines, 1)
	assert.Equal(t, Eager, saved.PyTorch[0].Baselines[0].Mode)
	assert.Len(t, saved.PyTorch[1].Baselines, 2)
	assert.Equal(t, []Failure{{"torch.compile byte-rmt", "no compiler"}}, saved.Failures)
	assert.Len(t, saved.Picture().Series, 3)
}

// TestJAXAlone: JAX is compared without PyTorch, too.
func TestJAXAlone(t *testing.T) {
	b, saved := played(t, func(_ context.Context, j job) (*worker, error) { return playing(j, 0.5, -1) })
	b.o.PyTorch, b.o.JAX = nil, &JAX{}
	require.NoError(t, b.Baselines(context.Background(), chosen(t, "byte-rmt")))
	require.NoError(t, b.Report().Err())
	require.Len(t, saved.PyTorch, 1)
	require.Len(t, saved.PyTorch[0].Baselines, 1)
	assert.Equal(t, jaxOnXLA, saved.PyTorch[0].Baselines[0].Mode)
}

// TestPyTorchWarmsUpAtOnce: PyTorch's processes of one comparison warm up together, and ours with
// them; those that run in this program start when the one before has warmed up. Ours is measured
// once, and has a row of its own besides the comparison.
func TestPyTorchWarmsUpAtOnce(t *testing.T) {
	var all sync.WaitGroup
	all.Add(3)
	b, saved := played(t, func(_ context.Context, j job) (*worker, error) {
		all.Done()
		return playingModel(j, 5, 0.5, -1, all.Wait)
	})
	require.NoError(t, b.Baselines(context.Background(), chosen(t, "byte-rmt")))
	require.NoError(t, b.Report().Err())
	require.Len(t, saved.Models, 1)
	assert.Equal(t, saved.PyTorch[0].Residua, saved.Models[0].Timing)
	assert.Equal(t, 6, saved.Models[0].Steps)

	var warming atomic.Int32
	b, saved = played(t, func(_ context.Context, j job) (*worker, error) {
		assert.EqualValues(t, 1, warming.Add(1), "%s starts alone", j.title())
		return playingModel(j, 5, 0.5, -1, func() {
			time.Sleep(10 * time.Millisecond)
			warming.Add(-1)
		})
	})
	require.NoError(t, b.Models(context.Background(), chosen(t, "byte-rmt", "byte-transformer")))
	assert.Len(t, saved.Models, 2)
	assert.Len(t, saved.Sizes, 1)
}

// TestOnlyEqualModelsAreCompared: a PyTorch model with another number of parameters is refused.
func TestOnlyEqualModelsAreCompared(t *testing.T) {
	b, saved := played(t, func(_ context.Context, j job) (*worker, error) {
		if j.Implementation == Eager {
			return playingModel(j, 7, 0.5, -1, func() {})
		}
		return playing(j, 0.5, -1)
	})
	require.NoError(t, b.Baselines(context.Background(), chosen(t, "byte-rmt")))
	require.Len(t, saved.PyTorch, 1)
	assert.Len(t, saved.PyTorch[0].Baselines, 1)
	assert.EqualError(t, b.Report().Err(), "PyTorch eager byte-rmt: want 5 parameters as Residua's, got 7: it is another model")
}

// TestPlainAlone: without other designs the plain transformer is measured.
func TestPlainAlone(t *testing.T) {
	b, saved := played(t, func(_ context.Context, j job) (*worker, error) { return playing(j, 0.5, -1) })
	all, err := Comparisons(models.Standard(), []string{"byte"}, []string{"quickstart-transformer"}, Size{Seq: 8})
	require.NoError(t, err)
	require.NoError(t, b.Designs(context.Background(), all))
	require.Len(t, saved.Designs, 1)
	assert.Equal(t, 1.0, saved.Designs[0].Time)
	assert.Equal(t, 6, saved.Designs[0].Steps)
}

// TestDesignsThatFail: if a design fails, its row is missing; if the plain transformer fails, all
// later rows are.
func TestDesignsThatFail(t *testing.T) {
	names := []string{"quickstart", "quickstart-highway", "quickstart-mhc"}
	for _, test := range []struct {
		fails   string
		answers int
		want    []string
	}{
		{"quickstart-highway", 0, []string{"quickstart-transformer", "quickstart", "quickstart-mhc"}},
		{"quickstart", 1, []string{"quickstart-transformer", "quickstart-highway", "quickstart-mhc"}},
		{"quickstart-transformer", 3, []string{"quickstart-transformer", "quickstart"}},
		{"quickstart-transformer", 0, nil},
	} {
		b, saved := played(t, func(_ context.Context, j job) (*worker, error) {
			if j.Name == test.fails {
				return playing(j, 0.5, test.answers)
			}
			return playing(j, 0.25, -1)
		})
		all, err := Comparisons(models.Standard(), []string{"byte"}, names, Size{Seq: 8})
		require.NoError(t, err)
		require.NoError(t, b.Designs(context.Background(), all))
		var got []string
		for _, d := range saved.Designs {
			got = append(got, d.Name)
		}
		assert.Equal(t, test.want, got, "%+v", test)
		assert.Len(t, saved.Failures, 1)
	}
}

// TestInterrupted: earlier measurements are kept, and nothing that the interrupt ended counts as
// failed, even if a child ends before the interrupt is known here.
func TestInterrupted(t *testing.T) {
	for _, late := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var started atomic.Int32
		b, saved := played(t, func(_ context.Context, j job) (*worker, error) {
			if started.Add(1) < 4 {
				return playing(j, 0.5, -1)
			}
			if late {
				time.AfterFunc(interruptDelay/4, cancel)
				return nil, errors.New("killed")
			}
			cancel()
			return playing(j, 0.5, -1)
		})
		err := b.Baselines(ctx, chosen(t, "byte-rmt", "byte-transformer"))
		require.ErrorIs(t, err, context.Canceled)
		require.Len(t, saved.PyTorch, 1)
		assert.Equal(t, "byte-rmt", saved.PyTorch[0].Name)
		assert.Empty(t, b.Report().Failures)
	}
}

// TestTail: an error shows the last lines completely.
func TestTail(t *testing.T) {
	stderr := &tail{}
	for i := range 1000 {
		_, _ = fmt.Fprintf(stderr, "line %d\n", i)
	}
	assert.Equal(t, "line 992\nline 993\nline 994\nline 995\nline 996\nline 997\nline 998\nline 999", stderr.String())
}
