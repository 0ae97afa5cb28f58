package trainer_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/trainer"
)

// TestMuonRun: a run with Muon that is stopped and resumed makes the same bits; its checkpoint
// holds exactly what the rules keep; a run with another rule refuses the checkpoint.
func TestMuonRun(t *testing.T) {
	text, whole, out := corpus(t), filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "broken")
	const muon = "train.optim.kind=muon"
	train(t, tiny(t, text, whole, muon), trainer.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	_, err := tryTrain(ctx, tiny(t, text, out, muon), trainer.Options{Report: &stopper{at: 13, stop: cancel}})
	require.NoError(t, err)

	_, err = tryTrain(context.Background(), tiny(t, text, out), trainer.Options{Resume: trainer.ResumeAuto})
	var refused *trainer.ResumeError
	require.True(t, errors.As(err, &refused), "%v", err)
	assert.Equal(t, "train.optim", refused.Key)
	assert.Regexp(t, `^train\.optim: parameter "[a-z0-9._]+": want the state of AdamW, got that of Muon: `, refused.Problem)

	train(t, tiny(t, text, out, muon), trainer.Options{Resume: trainer.ResumeAuto})
	require.Equal(t, losses(t, whole), losses(t, out))
	requireSameCheckpoint(t, last(t, whole), last(t, out))
	kept := map[string]int{}
	for _, x := range last(t, out).Optimizer {
		kept[filepath.Ext(x.Name)]++
	}
	assert.Equal(t, len(last(t, out).Model), kept[".momentum"]+kept[".moment1"])
	assert.Equal(t, kept[".moment1"], kept[".moment2"])
	assert.Positive(t, kept[".momentum"])
}

// TestOptimSettings: each key of the section changes what a run learns.
func TestOptimSettings(t *testing.T) {
	text := corpus(t)
	seen := map[string]string{}
	for _, sets := range [][]string{
		nil,
		{"train.optim.kind=muon"},
		{"train.optim.kind=muon", "train.optim.lr=0.01"},
		{"train.optim.kind=muon", "train.optim.momentum=0.5"},
		{"train.optim.kind=muon", "train.optim.scale=match_rms_adamw"},
		{"train.optim.kind=muon", "train.optim.weight_decay=0.5"},
		{"train.optim.kind=muon", "train.optim.keys=adamw"},
	} {
		out := filepath.Join(t.TempDir(), "run")
		train(t, tiny(t, text, out, append(sets, "train.steps=4", "train.eval_every=0")...), trainer.Options{})
		all := losses(t, out)
		end := all[len(all)-1]
		assert.NotContains(t, seen, end, "%v is as %v", sets, seen[end])
		seen[end] = ""
		for _, s := range sets {
			seen[end] += s + " "
		}
	}
}
