package runconfig

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/configs"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models/modeltest"
)

// explicitModels lists models without a preset: one of each stream, and some with defaults that
// follow from other keys.
var explicitModels = []string{
	"{stream: {kind: matrix, dk: 4, dv: 6, rank: 2}, layers: 1, feedforward: {kind: gelu, hidden: 8}, seq: 8}",
	"{stream: {kind: vector, d_model: 8}, layers: 1, attention: {heads: 2}, feedforward: {kind: gelu, hidden: 8}, seq: 8}",
	"{stream: {kind: vector, d_model: 8}, layers: 1, attention: {heads: 2, positions: rope}, feedforward: {kind: moe, hidden: 8, experts: 4}, seq: 8, mup: {base: {stream: {d_model: 4}, feedforward: {hidden: 4}}}}",
	"{stream: {kind: vector, d_model: 8}, layers: 1, attention: {heads: 2}, feedforward: {kind: moe, hidden: 8, experts: 1}, seq: 8, init: lecun, mup: {}}",
	"{stream: {kind: vwn, d_model: 8, m: 2, n: 3}, layers: 1, attention: {heads: 2}, feedforward: {kind: gelu, hidden: 8}, seq: 8}",
	"{stream: {kind: vector, d_model: 8}, layers: 3, loops: 2, attention: {heads: 2}, feedforward: {kind: gelu, hidden: 8}, seq: 8}",
	"{stream: {kind: hieragg, d_model: 8}, layers: 2, attention: {heads: 2}, feedforward: {kind: gelu, hidden: 8}, seq: 8}",
	"{stream: {kind: vector, d_model: 8}, layers: 1, attention: {heads: 2, positions: rope, rope_scaling: {type: yarn, factor: 4, original_seq: 8}}, feedforward: {kind: gelu, hidden: 8}, seq: 8}",
	"{stream: {kind: dwlstm, d_model: 8}, layers: 1, attention: {heads: 2}, seq: 8}",
}

// everyConfig returns the texts of configs by file: those in configs/; one from each subfolder,
// whose configs differ only in numbers; one for each explicit model; and one for a small model of
// each design.
func everyConfig(t *testing.T) map[string]string {
	all := map[string]string{}
	for _, name := range configs.Names() {
		if strings.Contains(name, "/") && name != "paper/figure6-dk6" {
			continue
		}
		file, text, err := configs.Read(name)
		require.NoError(t, err)
		all[file] = string(text)
	}
	for _, model := range explicitModels {
		all[model+".yaml"] = "model: " + model + "\ntrain: {tokens: 1000, lr: 1e-3}\n"
	}
	for _, p := range modeltest.Small(zoo) { // JSON is YAML
		model := map[string]any{}
		text, err := json.Marshal(p.Config)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &model))
		delete(model, "mask_documents") // given by data.mask_documents
		delete(model, "vocab")          // and by the tokenizer
		maps.DeleteFunc(model, func(_ string, v any) bool { return v == "" || v == 0.0 })
		text, err = json.Marshal(map[string]any{"model": model, "train": map[string]any{"tokens": 1000, "lr": 1e-3}})
		require.NoError(t, err)
		all[p.Name+"-explicit.yaml"] = string(text)
	}
	return all
}

// parentValues lists other values for the keys that defaults follow from.
var parentValues = map[string][]string{
	"name":             {"other"},
	"train.lr":         {"1e-9", "5"},
	"train.steps":      {"1", "7000"},
	"train.tokens":     {"500"},
	"train.batch":      {"1"},
	"train.accumulate": {"2"},
	"train.eval_every": {"0", "3"},

	"train.stop.tokens": {"100"},
	"model.seq":         {"4"},
	"model.layers":      {"2", "4"},
	"data.tokenizer":    {"bytes", "gpt2"},
	"device.kind":       {"cpu", "cuda"},
	"model.preset":      {"rmt-46m", "quickstart-mhc", "moe-8x2"},
	"model.init":        {"paper", "lecun", "lecun-all"},

	"model.stream":              {"{kind: vector, d_model: 16}", "{kind: hyper, d_model: 16}", "{kind: vwn, d_model: 16, n: 3, m: 2}"},
	"model.stream.kind":         {"vector", "mhc"},
	"model.stream.d_model":      {"16"},
	"model.feedforward.experts": {"1", "3"},
	"model.feedforward":         {"{kind: gelu, hidden: 4}", "{hidden: 4}"},
	"model.attention.positions": {"alibi", "rope"},

	"model.attention.rope_scaling.type":   {"llama3", "yarn"},
	"model.attention.rope_scaling.factor": {"8"},
}

func TestEveryParentOfADefaultHasValuesToTest(t *testing.T) {
	entries, err := settings.Entries(Run{})
	require.NoError(t, err)
	keys, err := Keys(zoo)
	require.NoError(t, err)
	known, found := defaultsOf(keys), 0
	for _, e := range entries {
		for _, parent := range strings.Fields(e.Tag.Get("from")) {
			found++
			if strings.HasPrefix(parent, ".") { // a key of the same section
				parent = e.Key[:strings.LastIndexByte(e.Key, '.')] + parent
			}
			tried := slices.ContainsFunc(slices.Collect(maps.Keys(parentValues)), func(key string) bool {
				return key == parent || strings.HasPrefix(key, parent+".") // of a section, any key
			})
			assert.True(t, tried, "%s follows from %s", e.Key, parent)
			assert.Contains(t, known, parent, e.Key)
			assert.NotEmpty(t, e.Tag.Get("default"), e.Key)
		}
	}
	assert.Positive(t, found)
}

func TestASavedConfigMakesTheSameRun(t *testing.T) {
	for file, text := range everyConfig(t) {
		run, _, err := Parse(zoo, file, []byte(text), nil)
		require.NoError(t, err, file)
		saved, err := run.Text()
		require.NoError(t, err, file)
		again, _, err := Parse(zoo, "runs/q/config.yaml", saved, nil)
		require.NoError(t, err, "%s\n%s", file, saved)
		assert.Equal(t, run, again, "%s\n%s", file, saved)
		twice, err := again.Text()
		require.NoError(t, err)
		assert.Equal(t, string(saved), string(twice), file)
	}
}

// TestASavedConfigTakesChangesAsItsSourceDoes: if -set changes a key that defaults follow from, a
// saved config gives the same result as the config that it was made from. Every ninth config tries
// one value of each key, the others those of keys that no config has tried; long tests try one
// value with every config, all tests every value.
func TestASavedConfigTakesChangesAsItsSourceDoes(t *testing.T) {
	loaded := map[string]int{}
	all := everyConfig(t)
	for i, file := range slices.Sorted(maps.Keys(all)) {
		text := all[file]
		if strings.Contains(text, "tokenizer: gpt2") && (testing.Short() || !strings.Contains(file, "moe-8x2")) {
			continue // one is enough, because that vocabulary takes a while to read
		}
		run, _, err := Parse(zoo, file, []byte(text), nil)
		require.NoError(t, err, file)
		saved, err := run.Text()
		require.NoError(t, err, file)
		for key, values := range parentValues {
			if key == "model.preset" && run.Model.Preset == "" {
				continue // the model's defaults are kept, and do not follow from a preset
			}
			if i%9 > 0 && loaded[key] > 0 && !longtest.Enabled() {
				continue
			}
			if !longtest.Exhaustive() {
				values = values[i%len(values):][:1]
			}
			for _, value := range values {
				sets := []string{key + "=" + value}
				want, _, wantErr := Parse(zoo, file, []byte(text), sets)
				got, _, gotErr := Parse(zoo, "runs/q/config.yaml", saved, sets)
				if wantErr != nil {
					assert.Error(t, gotErr, "%s %s", file, sets)
					continue
				}
				require.NoError(t, gotErr, "%s %s\n%s", file, sets, saved)
				assert.Equal(t, want, got, "%s %s\n%s", file, sets, saved)
				loaded[key]++
			}
		}
	}
	for key := range parentValues {
		assert.Positive(t, loaded[key], key)
	}
}

func TestASavedConfigHoldsWhatWasChosen(t *testing.T) {
	const text = "model: {preset: quickstart, layers: 4}\ntrain: {steps: 10, lr: 1e-2, min_lr: 1e-3}"
	run, _, err := Parse(zoo, "q.yaml", []byte(text), []string{"out=runs/elsewhere"})
	require.NoError(t, err)
	saved, err := run.Text()
	require.NoError(t, err)
	for _, line := range []string{"name: q", "out: runs/elsewhere", "  preset: quickstart", "  layers: 4", "  min_lr: 0.001", "  clip: 1",
		"  # stream:", "    # kind: matrix", "    # dk: 32", "  # vocab: 257", "    # positions: alibi", "  # mup: null", "  # precision: fp32"} {
		assert.Contains(t, strings.Split(string(saved), "\n"), line, "chosen, though it is what would be derived, or a comment")
	}
	lower, _, err := Parse(zoo, "c.yaml", saved, []string{"train.lr=5e-3"})
	require.NoError(t, err)
	assert.Equal(t, 1e-3, lower.Train.MinLR, "chosen")
}

func TestASavedConfigOfAChangedRunHoldsTheChange(t *testing.T) {
	run, _, err := Parse(zoo, "q.yaml", []byte("model: {preset: quickstart}\ntrain: {steps: 10, lr: 1e-2}"), nil)
	require.NoError(t, err)
	run.Out, run.Train.LR, run.Model.Layers = "runs/b", 1e-3, 2
	saved, err := run.Text()
	require.NoError(t, err)
	again, _, err := Parse(zoo, "config.yaml", saved, nil)
	require.NoError(t, err)
	assert.Equal(t, valuesOf(run), valuesOf(again), "%s", saved)

	byHand := Defaults()
	byHand.Name, byHand.Train.LR, byHand.Train.Steps = "hand", 1, 1
	saved, err = byHand.Text()
	require.NoError(t, err)
	assert.Contains(t, string(saved), "name: hand\n")
}
