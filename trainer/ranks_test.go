package trainer_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	stderrors "errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
	"github.com/residua-go/residua/trainer/distributed"
)

// rankRun is a rank's run. When it is open, opened is called, if it is not nil.
type rankRun struct {
	ctx    context.Context
	run    *runconfig.Run
	o      trainer.Options
	opened func()
}

// train opens and trains the run.
func (r rankRun) train(g *distributed.Group) (*trainer.Result, error) {
	r.o.Group = g
	tr, err := trainer.Open(r.ctx, r.run, r.o)
	if err != nil {
		return nil, err
	}
	defer tr.Close()
	if r.opened != nil {
		r.opened()
	}
	return tr.Run(r.ctx)
}

// onRanks trains by n ranks of this process, and returns rank 0's result and all errors.
func onRanks(n int, run func(rank int) rankRun) (*trainer.Result, []error) {
	results, errs := make([]*trainer.Result, n), make([]error, n)
	var all sync.WaitGroup
	for r, transport := range distributed.Memory(n) {
		all.Go(func() {
			g, err := distributed.New(transport, distributed.Options{})
			if err != nil {
				errs[r] = err
				return
			}
			results[r], errs[r] = run(r).train(g)
			var together *trainer.DivergedError
			if err := errs[r]; err != nil && !errors.As(err, &together) {
				g.Abort(1)
				return
			}
			if err := g.Close(); errs[r] == nil {
				errs[r] = err
			}
		})
	}
	all.Wait()
	return results[0], errs
}

// ranked returns a run of n ranks, in which each step has four micro-batches.
func ranked(t *testing.T, n int, text, out string, sets ...string) *runconfig.Run {
	t.Helper()
	sets = append([]string{"train.batch=2", "train.accumulate=4", "device.threads=1", fmt.Sprintf("device.ranks=%d", n)}, sets...)
	return tiny(t, text, out, sets...)
}

// trainRanks trains with n ranks to the end, or until the step after which rank by is interrupted.
func trainRanks(t *testing.T, n int, text, out string, o trainer.Options, sets ...string) *trainer.Result {
	t.Helper()
	r, errs := onRanks(n, func(int) rankRun {
		return rankRun{ctx: t.Context(), run: ranked(t, n, text, out, sets...), o: o}
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	return r
}

// requireClose compares the losses of two runs' steps and validations.
func requireClose(t *testing.T, a, b string) {
	t.Helper()
	want, err := trainer.ReadMetrics(a)
	require.NoError(t, err)
	got, err := trainer.ReadMetrics(b)
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i, w := range want {
		require.InDelta(t, float64(w.Loss), float64(got[i].Loss), 1e-5, "step %d", w.Step)
		require.Equal(t, w.Norms == nil, got[i].Norms == nil)
		if w.Norms != nil {
			for block, norm := range w.Norms.Gradients {
				require.InEpsilon(t, float64(norm), float64(got[i].Norms.Gradients[block]), 1e-3)
			}
		}
		require.Equal(t, w.ValLoss == nil, got[i].ValLoss == nil)
		if w.ValLoss != nil {
			require.InDelta(t, float64(*w.ValLoss), float64(*got[i].ValLoss), 1e-5, "step %d", w.Step)
		}
	}
}

// headers returns the headers of the newest checkpoint's files, without the digest of their
// content.
func headers(t *testing.T, out string) (all []string) {
	t.Helper()
	dir, _, err := checkpoint.Latest(out)
	require.NoError(t, err)
	for _, name := range []string{checkpoint.ModelFile, checkpoint.OptimizerFile} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		var header map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(raw[8:8+binary.LittleEndian.Uint64(raw)], &header))
		delete(header, "__metadata__")
		text, err := json.Marshal(header)
		require.NoError(t, err)
		all = append(all, string(text))
	}
	return all
}

// TestRanksMakeTheRunOfOne checks that a run by several ranks has the losses, the metrics and the
// files of a run by one, with each optimizer and with experts, and the same bits each time.
func TestRanksMakeTheRunOfOne(t *testing.T) {
	text := corpus(t)
	all, ranks := map[string][]string{"muon": {"train.optim.kind=muon", "train.clip=0.1", "train.steps=12", "train.log_norms=5", keepLog}}, []int{2}
	if longtest.Exhaustive() {
		ranks = append(ranks, 4)
	}
	if longtest.Enabled() {
		all["adamw"] = nil
		all["moe"] = []string{"model.feedforward={kind: moe, hidden: 24}", "model.feedforward.experts=3", "model.feedforward.top_k=2", "train.balance_loss=0"}
		all["steps by the clock"] = []string{"train.checkpoint_minutes=1e-9", "train.checkpoint_every=0", "train.eval_every=0"}
	}
	for name, sets := range all {
		t.Run(name, func(t *testing.T) {
			one := filepath.Join(t.TempDir(), "run")
			want := train(t, ranked(t, 1, text, one, sets...), trainer.Options{})
			for _, n := range ranks {
				out, again := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
				got := trainRanks(t, n, text, out, trainer.Options{}, sets...)
				require.Equal(t, want.Steps, got.Steps)
				require.InDelta(t, want.Final.Loss, got.Final.Loss, 1e-5)
				requireClose(t, one, out)
				require.Equal(t, headers(t, one), headers(t, out))
				require.Equal(t, steps(t, one), steps(t, out))
				require.Equal(t, last(t, one).State.ConfigDigest, last(t, out).State.ConfigDigest)
				trainRanks(t, n, text, again, trainer.Options{}, sets...)
				require.Equal(t, losses(t, out), losses(t, again))
				requireSameCheckpoint(t, last(t, out), last(t, again))
			}
		})
	}
}

// TestRanksResume stops a run of some ranks after a step, by interrupting one of them, and resumes
// with another number of ranks. The losses are the unbroken run's, and so are the bits if the
// number of ranks is the same.
func TestRanksResume(t *testing.T) {
	text := corpus(t)
	whole := map[int]string{}
	for _, n := range []int{1, 2} {
		whole[n] = filepath.Join(t.TempDir(), "whole")
		trainRanks(t, n, text, whole[n], trainer.Options{}, "train.steps=12")
	}
	for _, c := range []struct{ before, after, interrupted int }{{2, 1, 0}, {1, 2, 0}, {2, 2, 1}, {4, 2, 0}} {
		if c.before != 2 && !longtest.Enabled() {
			continue
		}
		out := filepath.Join(t.TempDir(), "broken")
		const at = 7
		r, errs := onRanks(c.before, func(rank int) rankRun {
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(cancel)
			r := rankRun{ctx: ctx, run: ranked(t, c.before, text, out, "train.steps=12")}
			if c.interrupted == 0 {
				r.o.Report = &stopper{at: at, stop: cancel}
			} else if rank == c.interrupted {
				r.opened = cancel // before the first step, which all ranks still make
			}
			return r
		})
		for _, err := range errs {
			require.NoError(t, err)
		}
		require.True(t, r.Interrupted)
		if c.interrupted == 0 {
			require.Contains(t, []int{at, at + 1}, r.Steps, "the interrupt comes after the step, or in the next")
		} else {
			require.Equal(t, 1, r.Steps)
		}
		trainRanks(t, c.after, text, out, trainer.Options{Resume: trainer.ResumeAuto}, "train.steps=12")
		requireClose(t, whole[1], out)
		require.Equal(t, headers(t, whole[1]), headers(t, out))
		if c.before == c.after {
			require.Equal(t, losses(t, whole[c.after]), losses(t, out))
			requireSameCheckpoint(t, last(t, whole[c.after]), last(t, out))
		}
	}
}

// TestRanksFork starts another run from a checkpoint: all ranks have its weights and moments.
func TestRanksFork(t *testing.T) {
	text, first := corpus(t), filepath.Join(t.TempDir(), "first")
	interrupt(t, ranked(t, 1, text, first, "train.steps=9"), 4, trainer.Options{})
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	train(t, ranked(t, 1, text, one, "train.steps=9"), trainer.Options{Fork: first})
	trainRanks(t, 2, text, two, trainer.Options{Fork: first}, "train.steps=9")
	requireClose(t, one, two)
	require.Equal(t, headers(t, one), headers(t, two))

	one, two = filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	from := []string{"train.steps=4", "train.init_from=" + first}
	train(t, ranked(t, 1, text, one, from...), trainer.Options{})
	trainRanks(t, 2, text, two, trainer.Options{}, from...)
	requireClose(t, one, two)
}

// TestRanksGiveUpTogether checks that all ranks end a run whose losses are not finite.
func TestRanksGiveUpTogether(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	_, errs := onRanks(2, func(int) rankRun {
		return rankRun{ctx: t.Context(), run: ranked(t, 2, text, out, "train.lr=10", "train.clip=0", "train.warmup=0", "train.max_bad_steps=2", "train.steps=200", "model.init=paper",
			"train.adam_eps=1e-30", "train.weight_decay=1e30")}
	})
	for _, err := range errs { // one rank may end the job before another has found the same
		require.Error(t, err)
	}
	var diverged *trainer.DivergedError
	require.ErrorAs(t, stderrors.Join(errs...), &diverged)
	require.Equal(t, 2, diverged.InRow)
}

// TestRanksAreRefused checks runs that the ranks do not fit.
func TestRanksAreRefused(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	_, err := trainer.Open(t.Context(), ranked(t, 2, text, out), trainer.Options{})
	require.ErrorContains(t, err, "device.ranks: want 1 here, got 2")
	_, errs := onRanks(2, func(int) rankRun {
		return rankRun{ctx: t.Context(), run: ranked(t, 4, text, out)}
	})
	// One rank may end the job before the other has found the same problem.
	require.ErrorContains(t, stderrors.Join(errs...), "device.ranks: want 2, the number of ranks that memory of one process sees, got 4")
	require.NoDirExists(t, out)
}

// TestRanksAgree checks that a rank with another config or text than rank 0 is refused.
func TestRanksAgree(t *testing.T) {
	text, other, out := corpus(t), filepath.Join(t.TempDir(), "other.txt"), filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.WriteFile(other, bytes.Repeat([]byte("another text\n"), 500), 0o644))
	for fact, name := range map[string]string{"config": "train.lr", "corpus": "corpus"} {
		_, errs := onRanks(2, func(rank int) rankRun {
			r := rankRun{ctx: t.Context(), run: ranked(t, 2, text, out)}
			if rank == 1 && fact == "config" {
				r.run = ranked(t, 2, text, out, "train.lr=2e-3")
			} else if rank == 1 {
				var err error
				r.o.Corpus, err = ranked(t, 2, other, out).Data.LoadCorpus(t.Context(), 1)
				require.NoError(t, err)
			}
			return r
		})
		// One rank may end the job before another finds the same problem.
		require.ErrorContains(t, stderrors.Join(errs...), name+": want ")
		require.NoDirExists(t, out)
	}
}

// TestRanksShareMoments checks that the prediction of a run's memory counts a rank's share of the
// moments.
func TestRanksShareMoments(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	alone, shared := trainer.MemoryNeed(ranked(t, 1, text, out)), trainer.MemoryNeed(ranked(t, 4, text, out))
	require.Equal(t, alone.Moments/4, shared.Moments)
	shared.Moments = alone.Moments
	require.Equal(t, alone, shared)
}
