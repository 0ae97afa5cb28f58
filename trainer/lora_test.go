package trainer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/crash"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// onLlama returns a run that trains adapters on a folder of Hugging Face's.
func onLlama(t *testing.T, folder, text, out string, sets ...string) *runconfig.Run {
	sets = append([]string{"data.path=[" + text + "]", "out=" + out, "train.init_from=" + folder, "train.steps=6", "train.lr=0.02",
		"train.lora={rank: 2, alpha: 4, targets: [q_proj, v_proj, '*.mlp.*']}"}, sets...)
	run, _, err := runconfig.Parse(models.Standard(), "llama.yaml", []byte(llamaYAML), sets)
	require.NoError(t, err)
	return run
}

// adapterNames are the tensors of a block's adapters.
func adapterNames(block string) (names []string) {
	for _, of := range []string{"attention.qkv.q_proj", "attention.qkv.v_proj", "feedforward.w1.gate_proj", "feedforward.w2.down_proj", "feedforward.w3.up_proj"} {
		names = append(names, "blocks."+block+"."+of+".lora_A", "blocks."+block+"."+of+".lora_B")
	}
	return names
}

// TestLora: the start is the base to the bit; the checkpoint holds adapters and their moments
// alone; the run learns; the folder opens with its base, wherever that has moved, and no other;
// what it merges scores as the run does.
func TestLora(t *testing.T) {
	folder, text, dir := bytesLlama(t), corpus(t), t.TempDir()
	base := onLlama(t, folder, text, filepath.Join(dir, "base"), "train.lora={rank: 0, targets: []}")
	out := filepath.Join(dir, "run")
	run := onLlama(t, folder, text, out, "train.steps=60")
	var first []trainer.Metrics
	train(t, base, trainer.Options{Report: &collector{into: &first}})
	var all []trainer.Metrics
	result := train(t, run, trainer.Options{Report: &collector{into: &all}})
	assert.Equal(t, first[0].Loss, all[0].Loss, "before the first update")
	assert.Less(t, float64(all[59].Loss), float64(all[0].Loss)-0.5)

	c := last(t, out)
	var names, moments []string
	for _, p := range c.Model {
		names = append(names, p.Name)
	}
	for _, p := range c.Optimizer {
		moments = append(moments, p.Name)
	}
	want := append(adapterNames("0"), adapterNames("1")...)
	assert.ElementsMatch(t, want, names)
	assert.Len(t, moments, 2*len(want))

	m, err := pretrained.Open(out)
	require.NoError(t, err)
	score, err := m.Evaluate(t.Context(), pretrained.EvaluateOptions{Tokens: 64})
	require.NoError(t, err)
	assert.InDelta(t, result.Final.Loss, score.Loss, 1e-6)

	moved := filepath.Join(dir, "moved")
	require.NoError(t, os.Rename(folder, moved))
	_, err = pretrained.Open(out)
	assert.ErrorContains(t, err, "if it is no longer at "+folder+", name it by -base")
	again, err := pretrained.OpenOn(out, moved)
	require.NoError(t, err)
	assert.Equal(t, m.Store.Param("blocks.1.attention.qkv").Value.Data(), again.Store.Param("blocks.1.attention.qkv").Value.Data())
	_, err = pretrained.OpenOn(out, filepath.Join(dir, "base"))
	assert.ErrorContains(t, err, "want the model that the adapters were trained on, of digest")

	merged := filepath.Join(dir, "merged.safetensors")
	_, err = again.Export("residua", merged, pretrained.ExportOptions{})
	require.NoError(t, err)
	whole, err := pretrained.Open(merged)
	require.NoError(t, err)
	assert.Nil(t, whole.Lora)
	assert.Equal(t, m.Store.Param("blocks.1.attention.qkv").Value.Data(), whole.Store.Param("blocks.1.attention.qkv").Value.Data())
}

// TestLoraProfile: a profile counts what the optimizer reads and writes of the adapters, and
// nothing of what does not change.
func TestLoraProfile(t *testing.T) {
	run := onLlama(t, bytesLlama(t), corpus(t), filepath.Join(t.TempDir(), "run"))
	tr, err := trainer.Open(t.Context(), run, trainer.Options{Profile: true})
	require.NoError(t, err)
	defer tr.Close()
	_, err = tr.Run(t.Context())
	require.NoError(t, err)
	p := tr.Profile()
	assert.Equal(t, 5, p.Steps)
	assert.Equal(t, 5*4*8*tr.Store().TrainedSize(), p.OptimizerBytes, "gradient twice; weight and two moments, each read and written")
}

// TestLoraResume goes on to the same bits, with a base that has moved, but with no other base and
// no other section.
func TestLoraResume(t *testing.T) {
	folder, text, dir := bytesLlama(t), corpus(t), t.TempDir()
	for name, sets := range map[string][]string{"adamw": nil, "muon, accumulation": {"train.optim={kind: muon}", "train.accumulate=2", "train.clip=0.1"}} {
		whole, out := filepath.Join(dir, name, "whole"), filepath.Join(dir, name, "broken")
		train(t, onLlama(t, folder, text, whole, sets...), trainer.Options{})
		interrupt(t, onLlama(t, folder, text, out, sets...), 3, trainer.Options{})
		moved := filepath.Join(dir, name, "moved")
		require.NoError(t, os.CopyFS(moved, os.DirFS(folder)))
		train(t, onLlama(t, folder, text, out, append(sets, "train.init_from="+moved)...), trainer.Options{Resume: trainer.ResumeAuto})
		assert.Equal(t, losses(t, whole), losses(t, out), name)
		assert.Equal(t, last(t, whole).Model, last(t, out).Model, name)
		assert.Equal(t, last(t, whole).Optimizer, last(t, out).Optimizer, name)
	}
	out := filepath.Join(dir, "run")
	first := filepath.Join(dir, "adamw", "whole")
	interrupt(t, onLlama(t, folder, text, out), 3, trainer.Options{})
	for key, set := range map[string]string{"train.lora": "train.lora.rank=1", "train.init_from": "train.init_from=" + first} {
		_, err := tryTrain(t.Context(), onLlama(t, folder, text, out, set), trainer.Options{Resume: trainer.ResumeAuto})
		wantKey(t, err, key)
	}
	_, err := tryTrain(t.Context(), onLlama(t, folder, text, out, "train.lora={rank: 0, targets: []}"), trainer.Options{Resume: trainer.ResumeAuto})
	wantKey(t, err, "train.lora")
	then := last(t, out).State.ConfigDigest
	assert.Equal(t, last(t, first).State.ConfigDigest, then)
	weights := filepath.Join(folder, "model.safetensors")
	file, err := checkpoint.ReadTensors(weights)
	require.NoError(t, err)
	file.Tensors[0].Data.([]float32)[0]++
	require.NoError(t, checkpoint.WriteTensors(weights, file.Tensors, nil))
	train(t, onLlama(t, folder, text, filepath.Join(dir, "other")), trainer.Options{})
	assert.NotEqual(t, last(t, filepath.Join(dir, "other")).State.ConfigDigest, then, "the base's digest is in it")
}

// TestLoraMuon: Muon updates A and B as matrices of their own.
func TestLoraMuon(t *testing.T) {
	folder, text, out := bytesLlama(t), corpus(t), filepath.Join(t.TempDir(), "run")
	train(t, onLlama(t, folder, text, out, "train.optim={kind: muon}", "train.steps=2"), trainer.Options{})
	var names []string
	for _, p := range last(t, out).Optimizer {
		names = append(names, p.Name)
	}
	var want []string
	for _, name := range append(adapterNames("0"), adapterNames("1")...) {
		want = append(want, name+".momentum")
	}
	assert.ElementsMatch(t, want, names)
}

// TestLoraRanks: two ranks train the adapters that one does.
func TestLoraRanks(t *testing.T) {
	folder, text, dir := bytesLlama(t), corpus(t), t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	train(t, onLlama(t, folder, text, one, "train.batch=1", "train.accumulate=4"), trainer.Options{})
	_, errs := onRanks(2, func(int) rankRun {
		return rankRun{ctx: t.Context(), run: onLlama(t, folder, text, two, "train.batch=1", "train.accumulate=4", "device.ranks=2")}
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	requireClose(t, one, two)
	assert.Equal(t, headers(t, one), headers(t, two))
}

// TestLoraSaysItsMemory next to full fine-tuning's.
func TestLoraSaysItsMemory(t *testing.T) {
	var log bytes.Buffer
	out := filepath.Join(t.TempDir(), "run")
	train(t, onLlama(t, bytesLlama(t), corpus(t), out, "train.steps=1"), trainer.Options{Report: trainer.NewLines(&log, 1)})
	assert.Contains(t, log.String(), "train.lora: 1104 parameters are trained, next to 21672 that stay as they are: 13 KB of gradients and moments, and in the buffers 32 KB of changed weights and at most 4.6 KB")
}

// TestLoraLogIsPredicted: train.keep_log keeps the adapters alone, and predicts their bytes.
func TestLoraLogIsPredicted(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	run := onLlama(t, bytesLlama(t), corpus(t), out, keepLog, "train.steps=1")
	train(t, run, trainer.Options{})
	kept, err := checkpoint.LogSteps(out)
	require.NoError(t, err)
	bytes := 0
	for _, step := range kept {
		f, err := checkpoint.ReadTensors(filepath.Join(checkpoint.LogPath(out, step), checkpoint.ModelFile))
		require.NoError(t, err)
		for _, tensor := range f.Tensors {
			bytes += 4 * tensor.Len()
		}
	}
	size, err := trainer.PredictLog(run)
	require.NoError(t, err)
	assert.Equal(t, trainer.LogSize{Steps: 2, Bytes: 2 * 4 * 1104}, size)
	assert.Equal(t, size, trainer.LogSize{Steps: len(kept), Bytes: bytes})
}

// TestLoraMeetsCrashes: a run of adapters that is interrupted at any step of its disk ends as one
// that is not.
func TestLoraMeetsCrashes(t *testing.T) {
	text, base := corpus(t), filepath.Join(t.TempDir(), "base")
	train(t, smallest(t, text, base, "train.steps=1"), trainer.Options{})
	w := crashing(t, "train.lora", text, "train.init_from="+base, "train.lora={rank: 2, targets: [c_attn]}")
	crash.Test(t, w, 2)
	c, err := checkpoint.ReadModel(filepath.Join(base, "checkpoints", "step-00000001", checkpoint.ModelFile))
	require.NoError(t, err)
	assert.False(t, strings.Contains(c.Metadata[checkpoint.MetadataConfig], "adapted"), "a whole model's description is as it was")
}
