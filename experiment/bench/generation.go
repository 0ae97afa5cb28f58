package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/sync/errgroup"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// Text says what a model generates in a step. The zero value is for a model that trains.
type Text struct {
	Prompt int `json:"prompt" yaml:"prompt" default:"500" min:"1" max:"1048576" help:"time the reading of a prompt of <N> tokens"`
	Tokens int `json:"tokens" yaml:"tokens" default:"128" min:"1" max:"1048576" help:"decode <N> tokens after a short prompt"` // of decodeAfter
	Batch  int `json:"batch,omitempty" yaml:"batch" default:"1" min:"1" max:"1024" help:"decode <N> texts at a time"`
}

// decodeAfter is the length of the prompt before the decoded tokens: short, so that it hardly
// affects the time of a token.
const decodeAfter = 16

// GPT2Name is the model that is compared with Hugging Face's transformers and llama.cpp: GPT-2's
// smallest shape, with random weights.
const GPT2Name = "gpt2-124m"

// gpt2 returns a model of GPT-2's kind: with biases, and an unembedding that is the embedding.
func gpt2(layers, width, hidden, heads int) models.Config {
	c := models.Transformer(layers, width, hidden, heads)
	c.Seq, c.NormEps, c.Bias, c.TieEmbeddings = 1024, 1e-5, true, true
	return c
}

// isGPT2 tells whether transformers' GPT2LMHeadModel is the same model.
func isGPT2(s models.Spec) bool {
	c := gpt2(s.Layers, s.Width(), s.FeedForwardShape().Hidden, s.HeadCount())
	c.Vocab, c.Seq = s.Vocab, s.Seq
	spec, err := c.Resolve()
	return err == nil && spec.SameModel(s) == nil
}

// ChooseGeneration returns the presets with these names, GPT2Name for none, each with a window that
// has room for the text.
func ChooseGeneration(zoo models.Zoo, names []string, t Text) ([]Workload, error) {
	if len(names) == 0 {
		names = []string{GPT2Name}
	}
	var chosen []Workload
	for _, name := range names {
		p := models.Preset{Name: name, Config: gpt2(12, 768, 3072, 12)}
		if name != GPT2Name {
			var err error
			if p, err = zoo.Preset(name); err != nil {
				return nil, unknownName("model", name, append([]string{GPT2Name}, namesOf(zoo.Presets(), presetName)...))
			}
		}
		w, err := newGenerationWorkload(p, t)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, w)
	}
	return chosen, nil
}

func newGenerationWorkload(p models.Preset, t Text) (Workload, error) {
	p.Config.Seq = max(p.Config.Seq, t.Prompt+1, decodeAfter+t.Tokens+1)
	spec, err := p.Config.Resolve()
	return Workload{Name: p.Name, Preset: p, Spec: spec, Batch: 1, Text: t}, errors.WithMessage(err, p.Name)
}

// prefillFLOPs counts the matrix products for a prompt; only the last token has logits.
func (w Workload) prefillFLOPs() float64 {
	spec, sum := w.Spec, 0.0
	spec.Seq = w.Text.Prompt
	for _, part := range spec.Parts() {
		if part.Name == models.PartUnembedding {
			sum += part.Cost.FLOPs
		} else {
			sum += part.Cost.FLOPs * float64(w.Text.Prompt)
		}
	}
	return sum
}

// generationRun generates greedily after random prompts.
type generationRun struct {
	store     *graph.Store
	generator *generate.Generator
	prompt    []int32
	text      Text
}

func newGeneration(w Workload, on Target) (*generationRun, error) {
	r := &generationRun{store: graph.NewStore(tensor.Float32, 1), text: w.Text}
	if _, err := models.New(gorgonia.NewGraph(), w.Spec, graph.Options{Store: r.store}); err != nil {
		return nil, err
	}
	draw := rand.New(rand.NewPCG(1, 2))
	for range max(w.Text.Prompt, decodeAfter) {
		r.prompt = append(r.prompt, int32(draw.IntN(w.Spec.Vocab)))
	}
	var err error
	r.generator, err = generate.New(r.store, w.Spec, nil,
		generate.Options{Threads: on.Threads, Device: on.Device, Precision: on.Precision, Window: w.Spec.Seq, Rows: max(1, w.Text.Batch)})
	return r, err
}

// step reads the prompt, up to the first token after it.
func (r *generationRun) step() (float64, error) {
	_, err := r.generator.Generate(context.Background(), generate.Request{IDs: r.prompt[:r.text.Prompt], Tokens: 1}, nil)
	return 0, err
}

// decode returns the seconds that each text takes for a token, from the first decoded token on.
func (r *generationRun) decode() (float64, error) {
	var texts errgroup.Group
	var first sync.Once
	var begin time.Time
	for range max(1, r.text.Batch) {
		texts.Go(func() error {
			_, err := r.generator.Generate(context.Background(), generate.Request{IDs: r.prompt[:decodeAfter], Tokens: r.text.Tokens + 1}, func(generate.Piece) error {
				first.Do(func() { begin = time.Now() })
				return nil
			})
			return err
		})
	}
	err := texts.Wait()
	return time.Since(begin).Seconds() / float64(r.text.Tokens), err
}

func (r *generationRun) peak() (int, error) { return peakBytes(), nil }

func (r *generationRun) facts() facts { return facts{Parameters: r.store.Size()} }

func (r *generationRun) close() { r.generator.Close() }

// Generation measures how fast models read a prompt and decode, compared with transformers and
// llama.cpp if those have the model. It fills Report.Generation.
func (b *Bench) Generation(ctx context.Context, chosen []Workload) error {
	with := b.peers(ctx, slices.ContainsFunc(chosen, func(w Workload) bool { return w.Text.Batch > 1 }))
	b.beginModels(chosen, Workload.prefillFLOPs)
	for _, w := range chosen {
		if err := b.generate(ctx, w, with); err != nil {
			return err
		}
	}
	return nil
}

// peers are the programs with which generation is compared.
type peers struct{ pytorch, llama bool }

// peers returns the programs that can be compared, and warns about those that cannot: on a GPU, or
// if several texts are decoded at a time, none can.
func (b *Bench) peers(ctx context.Context, several bool) (all peers) {
	usable := func(name string, s script, module string) bool {
		why := ""
		switch {
		case b.o.Target.onGPU():
			why = "it is compared on the CPU alone"
		case several:
			why = "it is compared with one text at a time alone"
		default:
			if err := s.runs(ctx, "import "+module); err != nil {
				why = fmt.Sprintf("%s cannot import %s (%v): install it as docs/speed.md says", s.python, module, err)
			}
		}
		if why != "" {
			b.warn(name + " is left out: " + why)
		}
		return why == ""
	}
	all.pytorch = b.o.PyTorch != nil && usable(transformers, b.o.PyTorch.script(), "transformers")
	all.llama = b.o.LlamaCPP != nil && usable(llamaCPP, b.o.LlamaCPP.script(), "xllamacpp")
	return all
}

// generate measures a model.
func (b *Bench) generate(ctx context.Context, w Workload, with peers) error {
	if with.llama {
		folder, err := os.MkdirTemp("", "residua-bench-")
		if err != nil {
			return errors.WithStack(err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		b.note("%s: writing llama.cpp's files", w.Name)
		if err := writeGGUF(w, folder); err != nil {
			b.warn("llama.cpp is left out of " + w.Name + ": " + err.Error())
			with.llama = false
		}
		debug.FreeOSMemory() // frees the weights
		return b.generateWith(ctx, w, b.generationJobs(w, with, folder))
	}
	return b.generateWith(ctx, w, b.generationJobs(w, with, ""))
}

// generationJobs returns our job in float32, then the others.
func (b *Bench) generationJobs(w Workload, with peers, folder string) []job {
	jobs := []job{b.job(generation, w)}
	if with.pytorch && isGPT2(w.Spec) {
		jobs = append(jobs, b.job(transformers, w))
	}
	if !with.llama {
		return jobs
	}
	for _, p := range weightPrecisions() {
		if p != graph.FP32 {
			ours := b.job(generation, w)
			ours.Target.Precision, ours.weights = p, string(p)
			jobs = append(jobs, ours)
		}
		for _, name := range llamaTypes(p) {
			theirs := b.job(llamaCPP, w)
			theirs.weights, theirs.file = name, ggufFile(folder, name)
			jobs = append(jobs, theirs)
		}
	}
	return jobs
}

// generateWith measures jobs with a model; each of our jobs is compared with the peers' jobs
// that follow it.
func (b *Bench) generateWith(ctx context.Context, w Workload, jobs []job) error {
	return b.against(ctx, []Workload{w}, "'s generation", func(Workload) []job { return jobs }, func(w Workload, first *worker, others []*worker) {
		b.report.Generation = append(b.report.Generation, newGenerationResults(w, jobs, append([]*worker{first}, others...))...)
	})
}
