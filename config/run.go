// Package config describes a run: which model learns from which data, how, on what
// device, and into which folder. Configs are YAML, read strictly: an unknown key or a
// bad value is an error with file and line.
package config

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// Run is a run config.
type Run struct {
	Name   string        `yaml:"name"` // default: the file's name
	Seed   uint64        `yaml:"seed"` // of initial weights, batches and dropout
	Model  models.Config `yaml:"model"`
	Data   Data          `yaml:"data"`
	Train  Train         `yaml:"train"`
	Sample Sample        `yaml:"sample"`
	Device Device        `yaml:"device"`
	Out    string        `yaml:"out"` // the run's folder; default runs/NAME
}

// Data says what a model learns from.
type Data struct {
	Source        string   `yaml:"source" json:"source"`                 // goroot | files | shards; default goroot
	Path          []string `yaml:"path" json:"path,omitempty"`           // files, folders, globs; goroot: a Go installation
	Tokenizer     string   `yaml:"tokenizer" json:"tokenizer"`           // bytes | gpt2; default bytes
	Split         string   `yaml:"split" json:"split"`                   // hash/N | tail/N | none; default hash/20
	TextField     string   `yaml:"text_field" json:"text_field"`         // of .jsonl lines; default text
	MaskDocuments bool     `yaml:"mask_documents" json:"mask_documents"` // attention stays inside a document
}

// Train says how a model learns.
type Train struct {
	Batch      int    `yaml:"batch"`      // rows a micro-batch
	Accumulate int    `yaml:"accumulate"` // micro-batches a step; default 1
	Recompute  string `yaml:"recompute"`  // none | block; default none
	Steps      int    `yaml:"steps"`      // updates; or tokens
	Tokens     int64  `yaml:"tokens"`     // to train on, instead of steps; rounded up to whole steps

	LR              float64 `yaml:"lr"`                // peak learning rate
	Schedule        string  `yaml:"schedule"`          // warmup-cosine | warmup-stable-decay | constant; default warmup-cosine
	Warmup          float64 `yaml:"warmup"`            // below 1 a share of the steps, else steps; default 0.05
	Decay           float64 `yaml:"decay"`             // warmup-stable-decay: the last share or steps; default 0.2
	MinLR           float64 `yaml:"min_lr"`            // at the end; default lr/10
	WeightDecay     float64 `yaml:"weight_decay"`      // default 1e-4
	WeightDecayMode string  `yaml:"weight_decay_mode"` // coupled | independent of the rate; default coupled
	Beta1           float64 `yaml:"beta1"`             // default 0.9
	Beta2           float64 `yaml:"beta2"`             // default 0.95
	AdamEps         float64 `yaml:"adam_eps"`          // default 1e-8
	Clip            float64 `yaml:"clip"`              // global gradient norm; 0: none; default 1
	ZLoss           float64 `yaml:"z_loss"`            // coefficient of mean (log Z)^2; default 1e-4
	BalanceLoss     float64 `yaml:"balance_loss"`      // with experts: coefficient of their load balance; default 0.01
	RouterZLoss     float64 `yaml:"router_z_loss"`     // with experts: coefficient of the routers' mean (log Z)^2; default 0

	EvalEvery       int    `yaml:"eval_every"`       // steps; 0: at the end only
	EvalTokens      int    `yaml:"eval_tokens"`      // of the validation split; 0: all; default 262144
	CheckpointEvery int    `yaml:"checkpoint_every"` // steps; 0: at the end only
	Keep            int    `yaml:"keep"`             // newest checkpoints to keep; default 2
	InitFrom        string `yaml:"init_from"`        // a checkpoint whose weights to start from
	MaxBadSteps     int    `yaml:"max_bad_steps"`    // non-finite steps in a row before giving up; default 10
	LogEvery        int    `yaml:"log_every"`        // steps between lines where there is no terminal; 0: about every 30 seconds
}

// Sample is the text that a run writes when it ends.
type Sample struct {
	Prompt      string  `yaml:"prompt"`
	Tokens      int     `yaml:"tokens"`      // 0: no sample; default 200
	Temperature float64 `yaml:"temperature"` // default 0.8
}

// Device says what a run computes on.
type Device struct {
	Kind      string `yaml:"kind"`      // cpu or cuda; default cpu
	Threads   int    `yaml:"threads"`   // 0: all cores
	Precision string `yaml:"precision"` // fp32, on cuda also tf32 and bf16; default fp32, on cuda tf32
}

// Options returns the device as a program's options.
func (d Device) Options(store *graph.Store) graph.Options {
	return graph.Options{Store: store, Threads: d.Threads, Device: graph.Device(d.Kind), Precision: graph.Precision(d.Precision)}
}

// complete fills in the device's own precision.
func (d *Device) complete() {
	switch {
	case d.Precision != "":
	case d.Kind == string(graph.CUDA):
		d.Precision = string(graph.TF32)
	default:
		d.Precision = string(graph.FP32)
	}
}

// Defaults returns the config that a file's keys override.
func Defaults() Run {
	return Run{
		Data:   Data{Source: data.KindGoroot, Tokenizer: "bytes", Split: "hash/20", TextField: "text"},
		Train:  Train{Batch: 8, Accumulate: 1, Recompute: "none", Schedule: "warmup-cosine", Warmup: 0.05, Decay: 0.2, WeightDecay: 1e-4, WeightDecayMode: "coupled", Beta1: 0.9, Beta2: 0.95, AdamEps: 1e-8, Clip: 1, ZLoss: 1e-4, BalanceLoss: 0.01, EvalTokens: 262144, Keep: 2, MaxBadSteps: 10},
		Sample: Sample{Tokens: 200, Temperature: 0.8},
		Device: Device{Kind: string(graph.CPU)},
	}
}

// Load reads a run config and applies assignments such as "train.steps=200" to it. The
// result is complete and valid; Positions tells where each key came from.
func Load(file string, sets []string) (*Run, *Positions, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, errors.Wrapf(err, "config: want a YAML file")
	}
	return Parse(file, text, sets)
}

// Parse is Load on text; file names it in messages and, without an extension, the run.
func Parse(file string, text []byte, sets []string) (*Run, *Positions, error) {
	run := Defaults()
	where, err := overlay(&run, file, text, sets)
	if err != nil {
		return nil, nil, err
	}
	if run.Model.Preset != "" {
		preset, names, ok := models.FindPreset(run.Model.Preset)
		if !ok {
			return nil, nil, unknownPreset(where, run.Model.Preset, names)
		}
		run = Defaults()
		run.Model = preset.Config
		if where, err = overlay(&run, file, text, sets); err != nil {
			return nil, nil, err
		}
	}
	if err := run.complete(file, where); err != nil {
		return nil, nil, err
	}
	return &run, where, run.validate(where)
}

func overlay(run *Run, file string, text []byte, sets []string) (*Positions, error) {
	where, err := Decode(file, text, run)
	if err != nil {
		return nil, err
	}
	for _, s := range sets {
		if err := where.Set(run, s); err != nil {
			return nil, err
		}
	}
	return where, nil
}

func unknownPreset(where *Positions, name string, names []string) error {
	hint := "one of " + strings.Join(names, ", ")
	if near := Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return where.Errorf("model.preset", "unknown preset %q; %s", name, hint)
}

// complete fills in what depends on other keys.
func (r *Run) complete(file string, where *Positions) error {
	if r.Name == "" {
		r.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	if r.Out == "" {
		r.Out = filepath.Join("runs", r.Name)
	}
	if r.Train.MinLR == 0 && where.Of("train.min_lr") == "" {
		r.Train.MinLR = r.Train.LR / 10
	}
	tokenizer, err := data.NewTokenizer(r.Data.Tokenizer)
	if err != nil {
		return where.Errorf("data.tokenizer", "%v", err)
	}
	if where.Of("model.vocab") == "" {
		r.Model.Vocab = tokenizer.Vocab()
	}
	if r.Model.Vocab < tokenizer.Vocab() {
		return where.Errorf("model.vocab", "want >= %d, the ids of tokenizer %s, got %d", tokenizer.Vocab(), r.Data.Tokenizer, r.Model.Vocab)
	}
	r.Model = r.Model.Resolve()
	r.Model.MaskDocuments, r.Model.ZLoss = r.Data.MaskDocuments, r.Train.ZLoss
	if r.Model.Experts > 0 {
		r.Model.BalanceLoss, r.Model.RouterZLoss = r.Train.BalanceLoss, r.Train.RouterZLoss
	}
	r.Model.BOS = int(tokenizer.BOS())
	r.Device.complete()
	return nil
}
