package settings

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSetReachesEveryKind(t *testing.T) {
	eight := 8
	for assignment, want := range map[string]func(*sample){
		"train.steps=200":                       func(s *sample) { s.Train.Steps = 200 },
		" train.lr = 1e-3 ":                     func(s *sample) { s.Train.LR = 1e-3 },
		"seed=0x10":                             func(s *sample) { s.Seed = 16 },
		"name=a=b":                              func(s *sample) { s.Name = "a=b" },
		`name=""`:                               func(s *sample) { s.Name = "" },
		"data.mask_documents=true":              func(s *sample) { s.Data.Mask = true },
		"data.paths=[a, 'b c']":                 func(s *sample) { s.Data.Paths = []string{"a", "b c"} },
		"data.paths=[]":                         func(s *sample) { s.Data.Paths = []string{} },
		"data.mix=[1,.5]":                       func(s *sample) { s.Data.Mix = []float64{1, 0.5} },
		"model.layers=3":                        func(s *sample) { s.Model.Layers = 3 },
		"model.rank=8":                          func(s *sample) { s.Model.Rank = &eight },
		"model.rank=null":                       func(s *sample) { s.Model.Rank = nil },
		"model.moe.experts=3":                   func(s *sample) { s.Model.Moe = &sampleMoe{Experts: 3} },
		"model.moe={experts: 3, jitter: 0.5}":   func(s *sample) { s.Model.Moe = &sampleMoe{Experts: 3, Jitter: 0.5} },
		"train={lr: 2}":                         func(s *sample) { s.Train.LR = 2 },
		"tags.new=x":                            func(s *sample) { s.Tags = map[string]string{"old": "yes", "new": "x"} },
		"tags={new: x}":                         func(s *sample) { s.Tags = map[string]string{"new": "x"} },
		"stages=[{steps: 1}, {note: \"a: b\"}]": func(s *sample) { s.Stages = []sampleStage{{Steps: 1}, {Note: "a: b"}} },
	} {
		got, expected := defaults(), defaults()
		require.NoError(t, set(&got, assignment), assignment)
		want(&expected)
		assert.Equal(t, expected, got, assignment)
	}
}

func TestSetErrors(t *testing.T) {
	for assignment, want := range map[string]string{
		"train.setps=200":         `-set: train.setps: unknown key; did you mean "steps"?`,
		"trian.steps=200":         `-set: trian: unknown key; did you mean "train"?`,
		"steps=200":               `-set: steps: unknown key; did you mean train.steps?`,
		"train.seq=200":           `-set: train.seq: unknown key; did you mean data.seq?`,
		"train.steps=1.5":         `-set: train.steps: want an integer, got 1.5`,
		"train.steps=1e3":         `-set: train.steps: want an integer, got 1e3; write 1000`,
		"train.steps=":            `-set: train.steps: want an integer, got nothing`,
		"train.steps=[":           `-set: train.steps: not YAML: sequence end token ']' not found`,
		"train.steps=1\n---\n2":   `-set: train.steps: a second document starts here; want one`,
		"train.steps=*a":          `-set: train.steps: aliases (*name) are not supported; write the value out, or put it in quotes if the * is part of it`,
		"train.steps.x=1":         `-set: train.steps.x: unknown key; the value of train.steps is an integer`,
		"model.rank.x=1":          `-set: model.rank.x: unknown key; the value of model.rank is an integer`,
		"name=123":                `-set: name: want a string, got 123; write "123" with the quotes`,
		"name=":                   `-set: name: want a string, got nothing; write "" for an empty one`,
		"name=run #3":             `-set: name: # starts a comment; write the value in quotes`,
		"data.paths=a,b":          `-set: data.paths: want a list of strings, got "a,b"; write [a,b]`,
		"data.paths=[a, 1]":       `-set: data.paths[1]: want a string, got 1; write "1" with the quotes`,
		"data.paths[0]=a":         `-set: data.paths: the entries of a list cannot be set alone; set it whole, as data.paths=[a,b]`,
		"data.paths.0=a":          `-set: data.paths.0: unknown key; data.paths is a list of strings, set it whole, as data.paths=[a,b]`,
		"train=":                  `-set: train: want a map with the keys steps, batch, lr, clip, warmup, keep, got nothing`,
		"train=5":                 `-set: train: want a map with the keys steps, batch, lr, clip, warmup, keep, got 5`,
		"train={steps: 1, lr: x}": `-set: train.lr: want a number, got "x"`,
		"train={lr: 1, lr: 2}":    `-set: train.lr: given twice`,
		"train..steps=1":          `-set: train."": unknown key; known here: steps, batch, lr, clip, warmup, keep`,
		".=1":                     `-set: "": unknown key; known here: ` + topKeys,
		"train.steps":             `-set: want key=value, as in train.steps=200, got "train.steps"`,
		"=5":                      `-set: want key=value, as in train.steps=200, got "=5"`,
		"":                        `-set: want key=value, as in train.steps=200, got ""`,
		"tags.\xff=a":             `-set: the byte 0xff is not UTF-8 text`,
		"train.lr=\xff":           `-set: train.lr: the byte 0xff is not UTF-8 text`,
	} {
		got := defaults()
		assert.EqualError(t, set(&got, assignment), want, assignment)
		assert.Equal(t, defaults(), got, assignment)
	}
}

func TestSetMovesPositions(t *testing.T) {
	got := defaults()
	text := "train:\n  steps: 1\n  lr: 1\ndata:\n  paths: [a, b]\nmodel:\n  moe:\n    experts: 2\ntags: {a: b}\n"
	p, err := decode(Reader{}, "x.yaml", []byte(text), &got)
	require.NoError(t, err)
	for _, assignment := range []string{"train.steps=2", "data.paths=[c]", "model.moe=null", "tags.c=d", "out=o"} {
		require.NoError(t, p.set(&got, assignment))
	}
	for key, want := range map[string]string{
		"train": "x.yaml:1", "train.steps": "-set", "train.lr": "x.yaml:3",
		"data.paths": "-set", "data.paths[0]": "-set", "data.paths[1]": "",
		"model.moe": "-set", "model.moe.experts": "", "tags.a": "x.yaml:9", "tags.c": "-set", "out": "-set",
	} {
		assert.Equal(t, want, p.Of(key), key)
	}
	require.Error(t, p.set(&got, "train.lr=x"))
	assert.Equal(t, "x.yaml:3", p.Of("train.lr"), "a refused assignment moved the position")

	var fresh Positions
	require.NoError(t, fresh.set(&got, "train={lr: 3}"))
	assert.Equal(t, "-set", fresh.Of("train.lr"))
	assert.Equal(t, "", fresh.Of("train.steps"))
}

func TestSetLeavesSharedValuesAlone(t *testing.T) {
	original := defaults()
	original.Model.Moe = &sampleMoe{Experts: 1}
	changed := original
	for _, assignment := range []string{"tags.old=no", "model.moe.experts=2", "model.rank=9", "model.widths=[7,8]"} {
		require.NoError(t, set(&changed, assignment))
	}
	want := defaults()
	want.Model.Moe = &sampleMoe{Experts: 1}
	assert.Equal(t, want, original)
	assert.Equal(t, "no", changed.Tags["old"])
}
