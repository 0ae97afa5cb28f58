// Package runconfig describes a run by structs that package settings reads: which model learns from
// which data, how, on what device, and into which folder. Configs are YAML (package configs holds
// those that come with the program) and are read strictly: an unknown key or a bad value is an
// error with file and line.
package runconfig

import (
	"cmp"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/internal/spelling"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
)

// Run is a run config. The tags of its fields, and of those of its sections, describe each key, in
// the form that package settings defines. Keys lists them. Two tags have a special meaning here:
//
//	default  its default, for a key whose default is not the constant that Defaults and
//	         models.Config.Resolve give it
//	from     the keys that this default follows from; Text says what that changes
type Run struct {
	Name   string        `yaml:"name" default:"the file's name" help:"name of the run"`
	Seed   uint64        `yaml:"seed" help:"seed of weights, batches and dropout; the same seed gives the same losses, bit for bit, on one kind of processor"`
	Model  models.Config `yaml:"model" help:"the language model"`
	Data   Data          `yaml:"data" help:"what the model learns from"`
	Train  Train         `yaml:"train" help:"how the model learns"`
	Sample Sample        `yaml:"sample" help:"the text that a run writes when it ends"`
	Device Device        `yaml:"device" help:"what the run computes on"`
	Out    string        `yaml:"out" default:"runs/NAME" from:"name" help:"folder of the run"`

	derived       []string // keys that were not given and follow from others; see Text
	splitByMemory bool     // train.batch and train.accumulate follow from the memory that was available; see SplitAs
	zoo           models.Zoo
	spec          models.Spec
}

// Zoo returns the zoo with which the run was read.
func (r *Run) Zoo() models.Zoo { return r.zoo }

// Spec returns the run's model, checked.
func (r *Run) Spec() models.Spec { return r.spec }

// Auxiliary returns what the run's loss adds to the cross-entropy.
func (r *Run) Auxiliary() models.Auxiliary {
	return models.Auxiliary{ZLoss: r.Train.ZLoss, BalanceLoss: r.Train.BalanceLoss, RouterZLoss: r.Train.RouterZLoss}
}

// Data says what a model learns from.
type Data struct {
	Source        data.Source `yaml:"source" json:"source" word:"kind" help:"where documents come from: goroot is the Go standard library's source"`
	Path          []string    `yaml:"path" json:"path,omitempty" help:"files, folders, globs, from the working directory on; with goroot, a Go installation"`
	Tokenizer     string      `yaml:"tokenizer" json:"tokenizer" help:"bytes, gpt2 or the path of a Hugging Face folder's tokenizer.json"`
	Split         string      `yaml:"split" json:"split" help:"validation text: hash/N (one document in N; of one, its last Nth), tail/N (the last Nth) or none"`
	TextField     string      `yaml:"text_field" json:"text_field" help:"the field of a .jsonl line that holds the text; a.b: field b inside a"`
	Cut           bool        `yaml:"cut" json:"cut,omitempty" added:"false" help:"conversations longer than model.seq lose their end; false: they are left out"`
	MaskDocuments bool        `yaml:"mask_documents" json:"mask_documents" help:"a token sees only tokens of its own document"`

	TokenizerName string `yaml:"-" json:"-"` // the tokenizer in the config of the run, if Tokenizer is a copy of its file; "": Tokenizer
}

// Train says how a model learns.
type Train struct {
	Batch       int    `yaml:"batch" min:"1" max:"65536" help:"rows of a micro-batch"`
	Accumulate  int    `yaml:"accumulate" min:"1" max:"1048576" help:"micro-batches of a step, over all ranks"`
	BatchTokens int    `yaml:"batch_tokens" added:"0" min:"0" max:"4294967296"`
	Recompute   string `yaml:"recompute" choices:"none, cheap, block"`
	Steps       int    `yaml:"steps" default:"required, or tokens" min:"0" max:"1000000000" help:"number of updates"`
	Tokens      int64  `yaml:"tokens" min:"0" max:"1000000000000000000" help:"tokens to train on, in place of steps; rounded up to whole steps"`
	Stop        Stop   `yaml:"stop" added:"" help:"ends the run before its last step"`

	LR              float64  `yaml:"lr" default:"required" max:"10" help:"peak learning rate"`
	Schedule        Schedule `yaml:"schedule" word:"kind" help:"how the rate changes, with warmup, decay and min_lr"`
	Warmup          float64  `yaml:"warmup" max:"1000000000" help:"warmup of the rate: below 1 a share of the steps, else a number of steps"`
	Decay           float64  `yaml:"decay" max:"1000000000" help:"decay at the end, with warmup-stable-decay: below 1 a share of the steps, else their number"`
	MinLR           float64  `yaml:"min_lr" default:"lr / 10" from:"train.lr" help:"learning rate at the end"`
	WeightDecay     float64  `yaml:"weight_decay" min:"0" help:"coefficient of the weight decay"`
	WeightDecayMode string   `yaml:"weight_decay_mode" choices:"coupled, independent" help:"coupled to the rate, or independent of it"`
	Beta1           float64  `yaml:"beta1" help:"AdamW's decay of the first moment"`
	Beta2           float64  `yaml:"beta2" help:"AdamW's decay of the second moment"`
	AdamEps         float64  `yaml:"adam_eps" help:"AdamW's epsilon"`
	Optim           Optim    `yaml:"optim" default:"adamw" help:"the optimizer of weight matrices"`
	Lora            Lora     `yaml:"lora" added:"" help:"trains adapters of low rank (LoRA) instead of all parameters"`
	Clip            float64  `yaml:"clip" min:"0" help:"greatest global gradient norm; 0: no clipping"`
	ZLoss           float64  `yaml:"z_loss" min:"0" help:"coefficient of mean (log Z)^2 in the loss"`
	BalanceLoss     float64  `yaml:"balance_loss" min:"0" help:"with experts: coefficient of their load balance in the loss"`
	RouterZLoss     float64  `yaml:"router_z_loss" min:"0" help:"with experts: coefficient of the routers' mean (log Z)^2 in the loss"`

	EvalEvery int `yaml:"eval_every" min:"0" max:"1000000000" help:"steps between evaluations; 0: at the end only"`

	EvalTokens int `yaml:"eval_tokens" default:"what makes all evaluations take 3% of the FLOPs, at most 262144" from:"train model.seq" min:"0" max:"1e12"`

	CheckpointEvery int    `yaml:"checkpoint_every" min:"0" max:"1000000000" help:"steps between checkpoints; 0: only before evaluations and at the end"`
	Keep            int    `yaml:"keep" min:"1" max:"1000000000" help:"number of newest checkpoints to keep"`
	InitFrom        string `yaml:"init_from" help:"a run, checkpoint, model file or Hugging Face folder whose weights to start from"`
	MaxBadSteps     int    `yaml:"max_bad_steps" min:"1" max:"1000000000" help:"steps in a row with a loss or gradient that is not finite, before a run gives up"`
	LogEvery        int    `yaml:"log_every" min:"0" max:"1000000000" help:"steps between lines where there is no terminal; 0: about every 30 seconds"`
	LogMixing       int    `yaml:"log_mixing" min:"0" max:"1000000000"`
	TensorBoard     bool   `yaml:"tensorboard" added:"false" help:"also write metrics and samples as an event file, for tensorboard --logdir on the run folder"`
	LogNorms        int    `yaml:"log_norms" added:"0" min:"0" max:"1000000000"`
	KeepLog         bool   `yaml:"keep_log" added:"false"`

	CheckpointMinutes float64 `yaml:"checkpoint_minutes" min:"0" max:"1000000000" help:"minutes of wall time from one checkpoint to the next; 0: not by time"`
}

// Help returns the help texts that are too long for tags, by key.
func (Train) Help() map[string]string {
	return map[string]string{
		"batch_tokens": "tokens of a step; sets accumulate, and batch, as large as memory allows, up to 16384 tokens; 0: batch and accumulate " +
			"say it",
		"recompute": "what the backward pass computes again, for less memory: none, cheap (norms, activations and gates: little time) or " +
			"block (all that each block computed)",
		"eval_tokens": "tokens of the validation split that are scored; 0: all",
		"log_mixing": "steps between measurements of how far a stream's mixing coefficients have moved from their start, in metrics.jsonl; " +
			"0: never. analyze mixing shows them",
		"log_norms": "steps between measurements of norms in metrics.jsonl: of the stream by depth, of weights and gradients by block; 0: " +
			"never. report draws them",
		"keep_log": "also keep the weights alone at steps 0, 1, 2, 4, ... 512, at every 1000th and at the last one, in checkpoints/log-N, " +
			"for analyses over training; train says first how much disk they take",
	}
}

// Sample is the section sample: the text that a run generates at its end and, with Every,
// while it trains.
type Sample struct {
	Prompt      string  `yaml:"prompt" help:"the text that the sample goes on from"`
	Tokens      int     `yaml:"tokens" min:"0" max:"1000000000" help:"number of tokens; 0: no sample"`
	Temperature float64 `yaml:"temperature" min:"0" help:"temperature; 0: always the likeliest token"`
	Every       int     `yaml:"every" added:"0" min:"0" max:"1000000000" help:"steps between samples in samples.jsonl, with one more at the end; 0: none"`
}

// Device says what a run computes on.
type Device struct {
	Kind      string `yaml:"kind" choices:"cpu, cuda" help:"cpu or cuda"`
	Index     int    `yaml:"index" min:"0" max:"1023"`
	Threads   int    `yaml:"threads" min:"0" max:"1024" help:"number of threads; 0: one for each core; the losses do not depend on it"`
	Precision string `yaml:"precision" default:"fp32, on cuda tf32" from:".kind"`

	Ranks       int     `yaml:"ranks" added:"1" min:"1" max:"65536"`
	RankTimeout float64 `yaml:"rank_timeout" added:"60" min:"0.1" max:"86400" help:"seconds for which a rank may be silent before the others end the job"`
}

// Help returns the help texts that are too long for tags, by key.
func (Device) Help() map[string]string {
	return map[string]string{
		"index": "which GPU, of those that CUDA_VISIBLE_DEVICES lets the program see; 0: the first. Several ranks on a host take this " +
			"one and those after it",
		"precision": "fp32; bf16: activations and what matrix products read in bfloat16, sums in float32; tf32, on cuda alone: matrix " +
			"products in TF32",
		"ranks": "processes that train one model together, started by mpiexec or another launcher of MPI; must divide train.accumulate; " +
			"the loss depends on it in its last bits alone",
	}
}

// Path returns the processor's instructions that the bits of results depend on; on a GPU "".
func (d Device) Path() string {
	if d.Place().OnGPU() {
		return ""
	}
	return graph.PathOf(graph.Precision(d.Precision))
}

// Options returns the device as a program's options.
func (d Device) Options(store *graph.Store) graph.Options {
	return graph.Options{Store: store, Threads: d.Threads, Device: d.Place(), Precision: graph.Precision(d.Precision)}
}

// Place returns the device in one word, "cpu", "cuda" or "cuda:1".
func (d Device) Place() graph.Device {
	if d.Kind == string(graph.CUDA) {
		return graph.GPU(d.Index)
	}
	return graph.Device(d.Kind)
}

// complete fills in the device's default precision.
func (d *Device) complete() {
	if d.Precision != "" {
		return
	}
	d.Precision = string(graph.FP32)
	if d.Place().OnGPU() {
		d.Precision = string(graph.TF32)
	}
}

// Defaults returns the values of keys that a file does not set.
func Defaults() Run {
	return Run{
		Data: Data{Source: data.Goroot{}, Tokenizer: "bytes", Split: "hash/20", TextField: "text"},
		Train: Train{Batch: 8, Accumulate: 1, Recompute: "none", Schedule: optim.WarmupCosine{}, Warmup: 0.05, Decay: 0.2, WeightDecay: 1e-4,
			WeightDecayMode: "coupled", Beta1: 0.9, Beta2: 0.95, AdamEps: 1e-8, Optim: AdamW{}, Lora: Lora{Alpha: 16}, Clip: 1, ZLoss: 1e-4, BalanceLoss: 0.01,
			EvalTokens: 262144, CheckpointMinutes: 10, Keep: 2, MaxBadSteps: 10},
		Sample: Sample{Tokens: 200, Temperature: 0.8},
		Device: Device{Kind: string(graph.CPU), Ranks: 1, RankTimeout: 60},
	}
}

// Parse reads a run config for designs in the zoo from a text, as Load does; file is its name in
// messages and, without its extension, the run's name.
func Parse(zoo models.Zoo, file string, text []byte, sets []string) (*Run, *settings.Positions, error) {
	run, where, err := resolve(zoo, file, text, sets)
	if err != nil {
		return nil, nil, err
	}
	return run, where, run.validate(where)
}

// resolve does what Parse does, without checking the values.
func resolve(zoo models.Zoo, file string, text []byte, sets []string) (*Run, *settings.Positions, error) {
	run := Defaults()
	run.zoo = zoo
	preset, unread := presetOf(zoo, file, text, sets)
	run.Model = preset
	where, err := readerOf(zoo).Read(&run, file, text, sets)
	if unread != nil && (err == nil || ofModel(err)) { // without its preset, the model's own keys seem wrong
		err = unread
	}
	if err != nil {
		return nil, nil, err
	}
	if err := run.complete(file, where); err != nil {
		return nil, nil, err
	}
	run.derived, err = derivedKeys(&run, where)
	return &run, where, err
}

// readerOf returns a reader for configs whose sections may hold the kinds that a zoo lists.
func readerOf(zoo models.Zoo) settings.Reader {
	k, generated := zoo.SectionKinds(true), data.Generated{Number: 100_000}
	addKinds[Optim](k, zoo, AdamW{}, Muon{Momentum: 0.95, Scale: string(optim.ScaleOriginal), Keys: Muon{}.Name()})
	addKinds[data.Source](k, zoo, data.Goroot{}, data.Files{}, data.Shards{}, data.DefaultConversations(),
		data.MQAR{Generated: generated, Vocabulary: 256, Length: 64, Pairs: 4, Power: 0.01},
		data.Memorization{Generated: generated, Pairs: 1024, Values: 64, Asked: 32}, data.BottleneckCopy{Generated: generated, Vocabulary: 64, Tokens: 16})
	addKinds[Schedule](k, zoo, optim.WarmupCosine{}, optim.WarmupStableDecay{}, optim.Constant{})
	return settings.Reader{Kinds: k}
}

// addKinds adds the kinds of a section, with their defaults: those built in, and those of the
// zoo.
func addKinds[T settings.Kinded](k settings.Kinds, zoo models.Zoo, ours ...T) {
	t := reflect.TypeFor[T]()
	for _, kind := range append(ours, models.KindsOf[T](zoo)...) {
		k[t] = append(k[t], layers.WithDefaults(kind))
	}
}

// modelPrefix begins the keys of a run's model.
const modelPrefix = "model."

// ofModel tells whether an error is about a key of the section model.
func ofModel(err error) bool {
	var of *settings.Error
	return errors.As(err, &of) && strings.HasPrefix(of.Key, modelPrefix)
}

// presetOf returns the model of the preset that a config names, otherwise an empty one. It ignores
// the values of other keys.
func presetOf(zoo models.Zoo, file string, text []byte, sets []string) (models.Config, error) {
	var named struct {
		Model struct {
			Preset string `yaml:"preset"`
		} `yaml:"model"`
	}
	where, err := settings.Reader{Peek: true}.Read(&named, file, text, sets)
	name := named.Model.Preset
	if err != nil || name == "" {
		return models.Config{}, err
	}
	preset, err := zoo.Preset(name)
	if err != nil {
		names := zoo.PresetNames()
		return models.Config{}, where.Errorf("model.preset", "unknown preset %q%s", name, cmp.Or(spelling.Hint(name, names), "; one of "+strings.Join(names, ", ")))
	}
	return preset.Config, nil
}

// complete fills in values that depend on other keys.
func (r *Run) complete(file string, where *settings.Positions) error {
	r.Name = cmp.Or(r.Name, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	r.Out = cmp.Or(r.Out, filepath.Join("runs", r.Name))
	if r.Train.MinLR == 0 && where.Of("train.min_lr") == "" {
		r.Train.MinLR = r.Train.LR / 10
	}
	r.completeOptim(where)
	tokenizer, err := r.tokenizer(file, where)
	if err != nil {
		return err
	}
	if where.Of("model.vocab") == "" {
		r.Model.Vocab = tokenizer.Vocab()
	}
	if r.Model.Vocab < tokenizer.Vocab() {
		return where.Errorf("model.vocab", "want >= %d, the ids of tokenizer %s, got %d", tokenizer.Vocab(), r.Data.Tokenizer, r.Model.Vocab)
	}
	if task, ok := r.Data.Source.(data.Task); ok {
		if err := r.completeTask(task.Examples(), where); err != nil {
			return err
		}
	}
	if err := r.completeConversations(where); err != nil {
		return err
	}
	if err := r.completeModel(where); err != nil {
		return err
	}
	r.Model.MaskDocuments = r.Data.MaskDocuments
	if err := r.splitStep(where, graph.AvailableMemory()); err != nil {
		return err
	}
	if where.Of("train.eval_tokens") == "" {
		r.Train.EvalTokens = r.evalTokens()
	}
	r.Model.BOS = int(tokenizer.BOS())
	r.Device.complete()
	return nil
}

// completeConversations turns the mask of documents on for conversations, several of which share a
// row.
func (r *Run) completeConversations(where *settings.Positions) error {
	_, ok := r.Data.Source.(data.Conversations)
	switch {
	case !ok && r.Data.Cut:
		return where.Errorf("data.cut", "want data.source conversations, got %s", r.Data.Source.Name())
	case ok && r.Device.Kind == string(graph.CUDA):
		return where.Errorf("data.source", "want device.kind cpu for conversations, whose targets are counted over a whole step, got %s", r.Device.Kind)
	case ok && where.Of("data.mask_documents") == "":
		r.Data.MaskDocuments = true
	}
	return nil
}

// completeTask fits rows to whole examples of a task, and turns the mask of documents on for a
// task with a separator.
func (r *Run) completeTask(of data.Examples, where *settings.Positions) error {
	if where.Of("model.seq") == "" {
		r.Model.Seq = of.Length
	}
	if r.Model.Seq%max(1, of.Length) != 0 {
		return where.Errorf("model.seq", "want a multiple of the %d tokens of an example of source %s, got %d", of.Length, r.Data.Source.Name(), r.Model.Seq)
	}
	if where.Of("data.mask_documents") == "" {
		r.Data.MaskDocuments = of.Separator > 0
	}
	r.Model.Separator = of.Separator
	return nil
}
