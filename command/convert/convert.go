// Package convert is the command that writes a trained model in another format.
package convert

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// Command converts models of the designs in a zoo.
func Command(zoo models.Zoo) cli.Command {
	c := &call{zoo: zoo}
	return cli.Command{
		Name:    "convert",
		Summary: "write a trained model in another format: for transformers, for llama.cpp, or a model of theirs as one of ours",
		Example: `
			train -config quickstart    # makes runs/quickstart
			convert -checkpoint runs/quickstart -format huggingface -out quickstart-hf
			# a folder of Hugging Face's as one file of ours
			convert -checkpoint quickstart-hf -format residua -out quickstart.safetensors`,
		Notes: `
			Formats:
			  residua      one .safetensors file, which every command reads and train.init_from names
			  huggingface  a folder that transformers' AutoModelForCausalLM.from_pretrained loads: a GPT-2, Llama or Qwen3 if the
			               model is one, or else, with trust_remote_code=True, the model by the folder's modeling_residua.py
			  gguf         one file that llama.cpp reads: of a GPT-2, Llama or Qwen3
			  rmt          a folder with the parameters as the RMT authors' code lays them out (weights.safetensors, rmt.json)

			Weights are written as float32 and keep every bit, but for -type bf16 and f16. docs/convert.md has the details.`,
		Settings: c,
		Run:      c.run,
	}
}

// call is a call of the command.
type call struct {
	zoo    models.Zoo
	Path   string `yaml:"checkpoint" help:"read the model from <PATH>: a run folder (its newest checkpoint), a step folder, a .safetensors file, or a folder of a Hugging Face GPT-2, Llama or Qwen3 or of the RMT authors' layout"`
	Out    string `yaml:"out" help:"write <PATH>: a folder, or for a format of one file that file"`
	Format string `yaml:"format" help:"write the format <NAME>: residua, huggingface, rmt or gguf"`
	pretrained.ExportOptions
	Adopt    string `yaml:"adopt" help:"take over the parameters of model <FILE> that another program has changed: check names, shapes and values, and write its digest anew; with no other flag"`
	Elements string `yaml:"type" default:"f32" help:"write weights of <TYPE>: f32, with -format residua bf16, or with -format gguf matrices of f16"`
}

// format is one that a model can be written in.
type format struct {
	name   string
	folder bool // it is written as a folder
	write  func(c *call, m *pretrained.Model, out cli.Output) error
}

func formats() []format {
	return []format{
		{"residua", false, writeResidua},
		{"huggingface", true, writeHuggingFace},
		{"rmt", true, writeRMT},
		{"gguf", false, writeGGUF},
	}
}

func names() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

func (c *call) run(_ context.Context, out cli.Output) error {
	if c.Adopt != "" {
		return c.adopt(out)
	}
	f, err := c.check()
	if err != nil {
		return err
	}
	m, err := pretrained.OpenWith(c.zoo, c.Path)
	if err != nil {
		return cli.Usage(errors.Wrap(err, "-checkpoint"))
	}
	for _, w := range m.Source.Warnings {
		out.Warn(w)
	}
	if err := m.Finite(); err != nil {
		return cli.Usage(errors.Wrapf(err, "-checkpoint: %s", c.Path))
	}
	if err := f.write(c, m, out); err != nil {
		return cli.Usage(cli.ByFlag(err))
	}
	return out.Print(fmt.Sprintf("wrote %s: %s, %d parameters\n", c.Out, f.name, m.Spec.Cost().Parameters))
}

// adopt is -adopt.
func (c *call) adopt(out cli.Output) error {
	if c.Path != "" || c.Out != "" || c.Format != "" {
		return cli.Usagef("-adopt: want it alone, got it with -checkpoint, -out or -format")
	}
	if err := pretrained.Adopt(c.zoo, c.Adopt); err != nil {
		return cli.Usage(errors.Wrap(err, "-adopt"))
	}
	return out.Print(fmt.Sprintf("adopted %s\n", c.Adopt))
}

// check refuses what can be refused before the model is read.
func (c *call) check() (format, error) {
	switch {
	case c.Path == "":
		return format{}, cli.Usagef("-checkpoint: want a run folder, a step folder, a .safetensors file or a Hugging Face folder, got nothing")
	case c.Out == "":
		return format{}, cli.Usagef("-out: want the path of what is to be written, got nothing")
	}
	for _, f := range formats() {
		if f.name == c.Format {
			if half := map[string]string{"residua": "bf16", "gguf": "f16"}[f.name]; c.Elements != "f32" && (half == "" || c.Elements != half) {
				return format{}, cli.Usagef("-type: want f32, with -format residua bf16, or with -format gguf f16, got %q", c.Elements)
			}
			return f, c.checkOut(f)
		}
	}
	return format{}, cli.Usagef("-format: want one of %s, got %q", strings.Join(names(), ", "), c.Format)
}

// checkOut wants nothing at -out, or with -replace what this command may have written.
func (c *call) checkOut(f format) error {
	info, err := os.Lstat(c.Out)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return cli.Usage(errors.Wrap(err, "-out"))
	case !c.ExportOptions.Replace:
		return cli.Usagef("-out: want a path where nothing is, got %s, which exists: name another, or add -replace", c.Out)
	case info.IsDir() != f.folder || !f.folder && !info.Mode().IsRegular():
		return cli.Usagef("-out: want a %s to replace by format %s, got another thing: %s", map[bool]string{true: "folder", false: "file"}[f.folder], f.name, c.Out)
	case f.folder:
		return cli.Usage(checkFolder(c.Out))
	}
	return nil
}

// checkFolder wants one whose loss is no surprise: empty, or of a model, with files alone.
func checkFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return errors.Wrap(err, "-out")
	}
	model := len(entries) == 0
	for _, e := range entries {
		if e.IsDir() {
			return errors.Errorf("-out: want a model's folder to replace, got %s, which has the folder %s in it: remove it, or name another", folder, e.Name())
		}
		model = model || e.Name() == checkpoint.HuggingFaceConfig || e.Name() == checkpoint.RMTFile
	}
	if !model {
		return errors.Errorf("-out: want a model's folder to replace, got %s, which has no %s or %s: remove it, or name another", folder, checkpoint.HuggingFaceConfig, checkpoint.RMTFile)
	}
	return nil
}

func writeResidua(c *call, m *pretrained.Model, out cli.Output) error {
	if data.IsTokenizerFile(m.Data.Tokenizer) {
		absolute, err := filepath.Abs(m.Data.Tokenizer)
		if err != nil {
			return errors.WithStack(err)
		}
		m.Data.Tokenizer = absolute
		out.Note("the model reads text by " + absolute + " and the config.json next to it: keep them there")
	}
	if c.Elements == "bf16" {
		return pretrained.SaveBFloat16(c.Out, m.Store, m.Description)
	}
	return m.Save(c.Out)
}

func writeGGUF(c *call, m *pretrained.Model, _ cli.Output) error {
	return m.ExportGGUF(c.Out, pretrained.GGUFOptions{Half: c.Elements == "f16"})
}

func writeRMT(c *call, m *pretrained.Model, out cli.Output) error {
	if data.IsTokenizerFile(m.Data.Tokenizer) {
		out.Note("this layout has no place for the tokenizer of " + m.Data.Tokenizer + ": what reads it takes token ids")
	}
	return m.ExportRMT(c.Out, c.ExportOptions.Replace)
}

func writeHuggingFace(c *call, m *pretrained.Model, out cli.Output) error {
	class, err := m.ExportHuggingFace(c.Out, c.ExportOptions)
	if err == nil && class.Remote {
		out.Note("no class of transformers computes this model: load it with trust_remote_code=True, by the folder's modeling_residua.py")
	}
	if err == nil && !class.Remote && m.Spec.MaskDocuments {
		out.Note("the model was trained with attention inside documents; transformers attends across the documents of one text")
	}
	return err
}
