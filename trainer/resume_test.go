package trainer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// TestResume stops a run at each of several steps and resumes it: everything that follows is the
// same to the bit, and so is the last checkpoint.
func TestResume(t *testing.T) {
	text := corpus(t)
	whole := filepath.Join(t.TempDir(), "whole")
	train(t, tiny(t, text, whole), trainer.Options{})
	for _, stop := range []int{1, 5, 13, 23} {
		if stop != 13 && !longtest.Enabled() {
			continue
		}
		out := filepath.Join(t.TempDir(), "broken")
		ctx, cancel := context.WithCancel(context.Background())
		r, err := tryTrain(ctx, tiny(t, text, out), trainer.Options{Report: &stopper{at: stop, stop: cancel}})
		require.NoError(t, err)
		require.True(t, r.Interrupted)
		require.Equal(t, stop, r.Steps)
		r = train(t, tiny(t, text, out), trainer.Options{Resume: trainer.ResumeAuto})
		require.Equal(t, 24, r.Steps)
		require.Equal(t, losses(t, whole), losses(t, out), "stopped at %d", stop)
		requireSameCheckpoint(t, last(t, whole), last(t, out))
	}
}

// TestResumeLoops resumes a model whose tokens pass its blocks several times, in which each pass
// has some weights of its own, and with recomputation, which changes no bit.
func TestResumeLoops(t *testing.T) {
	longtest.Skip(t)
	text := corpus(t)
	sets := []string{"model.stream={kind: denseformer, d_model: 16}", "model.loops=2", "model.attention.heads=2"}
	whole, out := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "broken")
	train(t, tiny(t, text, whole, sets...), trainer.Options{})
	recomputed := append([]string{"train.recompute=block"}, sets...)
	interrupt(t, tiny(t, text, out, recomputed...), 13, trainer.Options{})
	train(t, tiny(t, text, out, recomputed...), trainer.Options{Resume: trainer.ResumeAuto})
	require.Equal(t, losses(t, whole), losses(t, out))
	require.Equal(t, last(t, whole).Model, last(t, out).Model)
}

// TestResumeCutsMetrics: lines after the checkpoint's step are removed, and so is an incomplete
// last line.
func TestResumeCutsMetrics(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(context.Background())
	_, err := tryTrain(ctx, tiny(t, text, out), trainer.Options{Report: &stopper{at: 5, stop: cancel}})
	require.NoError(t, err)
	path := filepath.Join(out, "metrics.jsonl")
	lines, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(lines, []byte(`{"step":6,"tokens":384,"loss":1}`+"\n"+`{"step":7,"tok`)...), 0o644))
	ctx, cancel = context.WithCancel(context.Background())
	_, err = tryTrain(ctx, tiny(t, text, out), trainer.Options{Resume: trainer.ResumeAuto, Report: &stopper{at: 7, stop: cancel}})
	require.NoError(t, err)
	require.Len(t, losses(t, out), 7)
}

// A run whose checkpoints have no identity, metrics or validation, like those of earlier programs.
func TestARunOfAnEarlierProgramGoesOn(t *testing.T) {
	text, whole := corpus(t), filepath.Join(t.TempDir(), "whole")
	final := train(t, smallest(t, text, whole), trainer.Options{})
	for _, stop := range []int{5, 8, 12} {
		if stop != 8 && !longtest.Enabled() {
			continue
		}
		out := filepath.Join(t.TempDir(), "run")
		if stop < 12 {
			interrupt(t, smallest(t, text, out), stop, trainer.Options{})
		} else {
			train(t, smallest(t, text, out), trainer.Options{})
		}
		before := losses(t, out)
		old := last(t, out).State
		old.Run, old.Extra, old.BestStep, old.GoodStep, old.ConfigDigest = "", nil, nil, nil, ""
		require.NoError(t, checkpoint.Disk{}.Amend(out, old))
		report := &listener{}
		r := train(t, smallest(t, text, out), trainer.Options{Resume: trainer.ResumeAuto, Report: report})
		require.Empty(t, report.warnings)
		require.Equal(t, final.Final, r.Final, "stopped at %d", stop)
		require.Equal(t, losses(t, whole), losses(t, out))
		require.Equal(t, before, losses(t, out)[:stop])
		require.Equal(t, last(t, whole).Model, last(t, out).Model)
		dir, loss, err := checkpoint.Best(out)
		require.NoError(t, err)
		step, best := bestOf(t, whole)
		require.Equal(t, []any{step, best}, []any{last(t, filepath.Dir(filepath.Dir(dir))).State.Step, loss})
	}
}

// TestResumeAcrossNumerics: a checkpoint trained with an earlier version of the arithmetic resumes,
// and the run warns that its losses differ from those that the earlier program would have computed.
func TestResumeAcrossNumerics(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	interrupt(t, smallest(t, text, out), 5, trainer.Options{})
	old := last(t, out).State
	require.Equal(t, graph.Numerics, old.Numerics)
	old.Numerics = 0
	require.NoError(t, checkpoint.Disk{}.Amend(out, old))
	report := &listener{}
	train(t, smallest(t, text, out), trainer.Options{Resume: trainer.ResumeAuto, Report: report})
	require.Len(t, report.warnings, 1)
	require.Contains(t, report.warnings[0], fmt.Sprintf("numerics 0, this program's is %d", graph.Numerics))
	require.Equal(t, graph.Numerics, last(t, out).State.Numerics)
}

// TestBFloat16HasTheSameBits: in bfloat16, on whatever path the machine takes, the weights do not
// depend on the number of threads, nor on an interrupt.
func TestBFloat16HasTheSameBits(t *testing.T) {
	text, folder := corpus(t), t.TempDir()
	run := func(name, threads string) *runconfig.Run {
		return tiny(t, text, filepath.Join(folder, name), "model.stream.dv=16", "device.precision=bf16", "device.threads="+threads)
	}
	train(t, run("one", "1"), trainer.Options{})
	want := last(t, filepath.Join(folder, "one"))
	train(t, run("three", "3"), trainer.Options{})
	require.Equal(t, want.Model, last(t, filepath.Join(folder, "three")).Model)
	interrupt(t, run("cut", "2"), 3, trainer.Options{})
	train(t, run("cut", "2"), trainer.Options{Resume: trainer.ResumeAuto})
	got := last(t, filepath.Join(folder, "cut"))
	require.Equal(t, want.Model, got.Model)
	require.Equal(t, graph.PathOf(graph.BF16), got.State.Path)
}

// TestResumeOnAnotherPath: a checkpoint that was trained with other instructions of the processor
// resumes, and the run warns that its losses differ from those of that machine.
func TestResumeOnAnotherPath(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	interrupt(t, smallest(t, text, out), 5, trainer.Options{})
	old := last(t, out).State
	path := graph.PathOf(graph.FP32)
	require.Equal(t, path, old.Path)
	old.Path = "amx"
	require.NoError(t, checkpoint.Disk{}.Amend(out, old))
	report := &listener{}
	train(t, smallest(t, text, out), trainer.Options{Resume: trainer.ResumeAuto, Report: report})
	require.Len(t, report.warnings, 1)
	require.Contains(t, report.warnings[0], "other instructions of the processor (amx, here "+path+")")
	require.Equal(t, path, last(t, out).State.Path)
}

// TestFallBackNamesTheStep: if the newest checkpoint is damaged, every way to start from the run
// says which step is used.
func TestFallBackNamesTheStep(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	first := train(t, tiny(t, text, out), trainer.Options{})
	model := filepath.Join(first.Checkpoint, "model.safetensors")
	damaged, err := os.ReadFile(model)
	require.NoError(t, err)
	damaged[len(damaged)-1] ^= 1
	require.NoError(t, os.WriteFile(model, damaged, 0o644))
	for name, o := range map[string]trainer.Options{"auto": {Resume: trainer.ResumeAuto}, "folder": {Resume: trainer.Resume(out)}, "init": {}} {
		var log bytes.Buffer
		o.Report = trainer.NewLines(&log, 0)
		run := tiny(t, text, out)
		if name == "init" {
			run = tiny(t, text, filepath.Join(t.TempDir(), "second"), "train.init_from="+out)
		}
		tr, err := trainer.Open(context.Background(), run, o)
		require.NoError(t, err, name)
		tr.Close()
		require.Regexp(t, `warning: .*step-00000024.*damaged.*\nwarning: .*: using the checkpoint of step (18|20)\n`, log.String(), name)
	}
}

func TestResumeGoesOnlyIntoItsOwnRun(t *testing.T) {
	text, a, b := corpus(t), filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	train(t, smallest(t, text, a), trainer.Options{})
	train(t, smallest(t, text, b, "train.lr=2e-2"), trainer.Options{})
	before := tree(t, a)
	step := filepath.Join(b, "checkpoints", "step-00000009")
	for name, out := range map[string]string{"into another run": a, "into a new folder": filepath.Join(t.TempDir(), "new")} {
		t.Run(name, func(t *testing.T) {
			_, err := tryTrain(context.Background(), smallest(t, text, out, "train.steps=15"), trainer.Options{Resume: trainer.Resume(step)})
			wantKey(t, err, "out")
			require.ErrorContains(t, err, "-fork")
		})
	}
	require.Equal(t, before, tree(t, a), "a refused call changes nothing")

	copied := filepath.Join(a, "checkpoints", "step-00000009")
	require.NoError(t, os.RemoveAll(copied))
	require.NoError(t, os.CopyFS(copied, os.DirFS(step)))
	_, err := tryTrain(context.Background(), smallest(t, text, a, "train.steps=15"), trainer.Options{Resume: trainer.Resume(copied)})
	wantKey(t, err, "out")

	backup := filepath.Join(t.TempDir(), "backup")
	require.NoError(t, os.CopyFS(backup, os.DirFS(filepath.Join(b, "checkpoints", "step-00000012"))))
	r := train(t, smallest(t, text, b, "train.lr=2e-2", "train.steps=15"), trainer.Options{Resume: trainer.Resume(backup)})
	require.Equal(t, 15, r.Steps, "a copy of a run's own checkpoint is its own")
}

func TestAForkIsARunOfItsOwn(t *testing.T) {
	text, a, b := corpus(t), filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	train(t, smallest(t, text, a), trainer.Options{})
	before := tree(t, a)
	from := filepath.Join(a, "checkpoints", "step-00000012")
	tr, err := trainer.Open(context.Background(), smallest(t, text, b, "train.steps=18"), trainer.Options{Fork: from})
	require.NoError(t, err)
	tr.Close()
	require.Equal(t, []string{"step-00000012"}, steps(t, b), "it can be resumed before its first step")
	require.Equal(t, losses(t, a), losses(t, b), "what led to the fork comes along")
	r := train(t, smallest(t, text, b, "train.steps=18"), trainer.Options{Resume: trainer.ResumeAuto})
	require.Equal(t, 18, r.Steps)
	require.Len(t, losses(t, b), 18)
	require.NotEqual(t, last(t, a).State.Run, last(t, b).State.Run)
	_, _, err = checkpoint.Best(b)
	require.NoError(t, err)
	require.Equal(t, before, tree(t, a))
	_, err = tryTrain(context.Background(), smallest(t, text, b), trainer.Options{Fork: from})
	wantError(t, err, &trainer.RunExistsError{Out: b})
	_, err = tryTrain(context.Background(), smallest(t, text, b), trainer.Options{Fork: from, Resume: trainer.ResumeAuto})
	require.ErrorContains(t, err, "want no -resume with it")
}

// TestResumeKeepsTheMicroBatches: a run whose config leaves the micro-batch to the memory that is
// available goes on with that of its folder, and a fork with that of the run that it starts from,
// although another one would fit by now.
func TestResumeKeepsTheMicroBatches(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	run := func(out string, sets ...string) *runconfig.Run {
		sets = append([]string{"model.seq=16", "train.batch_tokens=64", "data.path=[" + text + "]", "out=" + out}, sets...)
		r, _, err := runconfig.Parse(models.Standard(), "tiny.yaml", []byte(strings.Replace(tinyYAML, "batch: 4, ", "", 1)), sets)
		require.NoError(t, err)
		return r
	}
	require.Equal(t, 1, run(out).Train.Accumulate)
	train(t, run(out, "train.steps=3", "train.batch=1"), trainer.Options{}) // as with little memory
	train(t, run(filepath.Join(t.TempDir(), "fork"), "train.steps=5"), trainer.Options{Fork: out})
	train(t, run(out, "train.steps=5"), trainer.Options{Resume: trainer.ResumeAuto})
	_, err := tryTrain(t.Context(), run(out, "train.steps=6", "train.batch=4"), trainer.Options{Resume: trainer.ResumeAuto})
	wantKey(t, err, "train.accumulate")
}

// fromTheFuture gives a sealed file a newer format version.
func fromTheFuture(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	body := bytes.Replace(text[:bytes.LastIndex(text, []byte(",\n  \"checksum\""))], []byte(`"version": 2`), []byte(`"version": 3`), 1)
	require.NoError(t, os.WriteFile(path, fmt.Appendf(body, ",\n  \"checksum\": \"%x\"\n}\n", sha256.Sum256(body)), 0o644))
}

func TestARunOfANewerProgramIsLeftAlone(t *testing.T) {
	text, whole := corpus(t), filepath.Join(t.TempDir(), "run")
	train(t, smallest(t, text, whole), trainer.Options{})
	for _, name := range []string{"latest.json", "best.json", "checkpoints/step-00000012/state.json", "checkpoints/step-00000009/state.json"} {
		for _, resume := range []trainer.Resume{trainer.ResumeAuto, "checkpoints/step-00000009", "checkpoints/step-00000012"} {
			out := filepath.Join(t.TempDir(), "run")
			require.NoError(t, os.CopyFS(out, os.DirFS(whole)))
			fromTheFuture(t, filepath.Join(out, name))
			before := tree(t, out)
			if resume != trainer.ResumeAuto {
				resume = trainer.Resume(filepath.Join(out, string(resume)))
			}
			_, err := tryTrain(context.Background(), smallest(t, text, out, "train.steps=15"), trainer.Options{Resume: resume})
			require.ErrorIs(t, err, checkpoint.ErrNewer, "%s with %s", resume, name)
			require.ErrorContains(t, err, filepath.Base(name))
			require.Equal(t, before, tree(t, out), "%s with %s", resume, name)
		}
	}
}
