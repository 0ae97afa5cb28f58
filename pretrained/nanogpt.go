package pretrained

import (
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// nanoGPT is the format of nanoGPT's ckpt.pt (Karpathy 2022): a GPT-2 with GELU by erf, with or
// without biases, whose sizes are in the file. Its linear maps are [out, in].
type nanoGPT struct{}

// Name returns "nanogpt".
func (nanoGPT) Name() string { return "nanogpt" }

// Wants describes the file.
func (nanoGPT) Wants() string { return "nanoGPT's ckpt.pt" }

// Recognises tells whether the file's name ends in .pt and it begins as a zip archive does.
func (nanoGPT) Recognises(path string) bool {
	return strings.HasSuffix(path, ".pt") && begins(path, "PK")
}

// Import reads the model of a checkpoint. A vocabulary of GPT-2's size, also up to the multiple of
// 64 that nanoGPT takes, is read by the tokenizer gpt2.
func (nanoGPT) Import(_ models.Zoo, path string) (*Model, error) {
	file, err := checkpoint.OpenTorch(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if !file.Has("model") || !file.Has("model_args", "n_embd") {
		return nil, errors.Errorf("%s: want nanoGPT's model and model_args, got none: write a PyTorch model of your own as docs/convert.md says", path)
	}
	args := func(key string) int { return int(max(0, min(file.Number("model_args", key), layers.MaxSize))) }
	c := models.Transformer(args("n_layer"), args("n_embd"), 4*args("n_embd"), args("n_head"))
	c.Vocab, c.Seq, c.NormEps, c.Gelu, c.TieEmbeddings, c.Bias = args("vocab_size"), args("block_size"), 1e-5, models.GeluExact, true,
		file.Number("model_args", "bias") != 0
	c.Bias = c.Bias || !file.Has("model_args", "bias") // the first versions always had them
	m := &Model{}
	if m.Spec, err = c.Resolve(); err != nil {
		return nil, errors.Wrapf(err, "%s: model_args", path)
	}
	m.Source.ModelPath, m.Data = path, runconfig.Data{TextField: runconfig.Defaults().Data.TextField}
	tensors, err := file.Tensors("model")
	if err != nil {
		return nil, err
	}
	for i := range tensors {
		tensors[i].Name = strings.TrimPrefix(tensors[i].Name, "_orig_mod.")
	}
	a := gpt2()
	a.Type, a.ZeroBiases, a.Tensors = "nanogpt", false, ""
	for line := range strings.Lines(gpt2Tensors) {
		f := strings.Fields(line)
		if strings.Contains(f[2], ".c_") && len(f[3]) == 2 {
			f[3] = f[3][1:] + f[3][:1]
		}
		a.Tensors += strings.Join(f, " ") + "\n"
	}
	if m.Store, err = a.store(m.Spec, tensors); err != nil {
		return nil, errors.Wrap(err, path)
	}
	if name := a.Tokenizers[gpt2Vocab]; m.Spec.Vocab >= gpt2Vocab && m.Spec.Vocab < gpt2Vocab+64 {
		m.Data.Tokenizer = name
		return m, nil
	}
	m.Source.Warnings = append(m.Source.Warnings, path+": no tokenizer here has its vocabulary: text cannot be encoded, want token ids as prompt")
	return m, nil
}
