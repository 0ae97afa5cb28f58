// Package convert holds the command that writes a trained model in another format.
package convert

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// Command returns the command that converts models of the designs in a zoo.
func Command(zoo models.Zoo) commandline.Command {
	c := &call{zoo: zoo}
	return commandline.Command{
		Name:    "convert",
		Summary: "write a trained model in another format: for transformers, for llama.cpp, or a model of theirs as one of ours",
		Example: `
			train -config quickstart    # makes runs/quickstart
			convert -checkpoint runs/quickstart -format huggingface -out quickstart-hf
			# a folder of Hugging Face's as one file of ours
			convert -checkpoint quickstart-hf -format residua -out quickstart.safetensors`,
		Notes:    notes(zoo),
		Settings: c,
		Run:      c.run,
	}
}

// notes lists the formats and the architectures of a zoo.
func notes(zoo models.Zoo) string {
	text := "Formats of -format:\n"
	for _, e := range pretrained.Exporters(zoo) {
		text += fmt.Sprintf("  %-12s %s\n", e.Name(), e.Format().Help)
	}
	text += "\n-checkpoint reads, in addition to runs and files of ours:\n"
	for _, i := range pretrained.Importers(zoo) {
		text += fmt.Sprintf("  %-12s %s\n", i.Name(), i.Wants())
	}
	return text + fmt.Sprintf("\nArchitectures of Hugging Face's: %v\n\nWeights are written as float32 and keep every bit, but for -type bf16, f16 and "+
		"q8_0. docs/convert.md has the details.\n",
		pretrained.ArchitectureNames(zoo))
}

// call holds the arguments of a call.
type call struct {
	zoo    models.Zoo
	Path   string `yaml:"checkpoint" alone:"[CHECKPOINT]"`
	Base   string `yaml:"base" help:"if -checkpoint holds adapters: the model in <PATH>, which they change; without, the one that they were trained on"`
	Out    string `yaml:"out" help:"write <PATH>: a folder, or for a format of one file that file"`
	Format string `yaml:"format" help:"write the format <NAME>, one of those below"`
	pretrained.ExportOptions
	Adopt string `yaml:"adopt" help:"take over parameters that another program has changed in model <FILE>: check them, write its digest anew; with no other flag"`
	Given settings.Given
}

// Help returns the help texts that are too long for tags, by key.
func (call) Help() map[string]string {
	return map[string]string{
		"checkpoint": "read the model from <PATH>: a run folder (its newest checkpoint), a step folder, a .safetensors file, zoo:NAME (a " +
			"trained model that comes with Residua), or what is listed below",
	}
}

func (c *call) run(_ context.Context, out commandline.Output) error {
	if c.Adopt != "" {
		return c.adopt(out)
	}
	if err := c.check(); err != nil {
		return err
	}
	m, err := commandline.Checkpoint{Zoo: c.zoo, Path: c.Path, Base: c.Base}.OpenPath()
	if err != nil {
		return err
	}
	for _, w := range m.Source.Warnings {
		out.Warn(w)
	}
	if err := m.Finite(); err != nil {
		return commandline.Usage(errors.Wrapf(err, "-checkpoint: %s", c.Path))
	}
	notes, err := m.Export(c.Format, c.Out, c.ExportOptions)
	if err != nil {
		return commandline.Usage(commandline.ByFlag(err))
	}
	for _, note := range notes {
		out.Note(note)
	}
	return out.Print(fmt.Sprintf("wrote %s: %s, %d parameters\n", c.Out, c.Format, m.Spec.Cost().Parameters))
}

// adopt carries out -adopt.
func (c *call) adopt(out commandline.Output) error {
	if others := slices.DeleteFunc(slices.Clone(c.Given), func(name string) bool { return name == "adopt" }); len(others) > 0 {
		return commandline.Usagef("-adopt: want it alone, got it with -%s", strings.Join(others, " and -"))
	}
	if err := pretrained.Adopt(c.zoo, c.Adopt); err != nil {
		return commandline.Usage(errors.Wrap(err, "-adopt"))
	}
	return out.Print(fmt.Sprintf("adopted %s\n", c.Adopt))
}

// check refuses, before the model is read, all that can be refused without it.
func (c *call) check() error {
	switch {
	case c.Path == "":
		return commandline.Usagef("-checkpoint: want a run folder, a step folder, a .safetensors file or a folder of another program's (-h lists them), got nothing")
	case c.Out == "":
		return commandline.Usagef("-out: want the path of what is to be written, got nothing")
	}
	e, err := models.Find("format", pretrained.Exporters(c.zoo), c.Format)
	if err != nil {
		return commandline.Usage(errors.Wrap(err, "-format"))
	}
	f := e.Format()
	if types := append([]string{"f32"}, f.Types...); !slices.Contains(types, c.Type) {
		return commandline.Usagef("-type: want %s with -format %s, got %q", strings.Join(types, " or "), c.Format, c.Type)
	}
	return c.checkOut(f.Folder)
}

// checkOut requires that -out does not exist or, with -replace, that it is something that this
// command may have written.
func (c *call) checkOut(folder bool) error {
	info, err := os.Lstat(c.Out)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return commandline.Usage(errors.Wrap(err, "-out"))
	case !c.ExportOptions.Replace:
		return commandline.Usagef("-out: want a path where nothing is, got %s, which exists: name another, or add -replace", c.Out)
	case info.IsDir() != folder || !folder && !info.Mode().IsRegular():
		return commandline.Usagef("-out: want a %s to replace by format %s, got another thing: %s", map[bool]string{true: "folder", false: "file"}[folder], c.Format,
			c.Out)
	case folder:
		return commandline.Usage(c.checkFolder())
	}
	return nil
}

// checkFolder requires a folder that can be replaced without unexpected loss: one that is empty, or
// that is a model's and has no folders and no files but those that this command writes.
func (c *call) checkFolder() error {
	entries, err := os.ReadDir(c.Out)
	if err != nil {
		return errors.Wrap(err, "-out")
	}
	for _, e := range entries {
		if e.IsDir() {
			return errors.Errorf("-out: want a model's folder to replace, got %s, which has the folder %s in it: remove it, or name another", c.Out, e.Name())
		}
	}
	if _, unknown := pretrained.ImporterOf(c.zoo, c.Out); unknown != nil && len(entries) > 0 {
		return errors.Errorf("-out: want a model's folder to replace, got %s: %v; remove it, or name another", c.Out, unknown)
	}
	ours := pretrained.ExportedFiles(c.zoo)
	others := slices.DeleteFunc(entries, func(e os.DirEntry) bool { return slices.Contains(ours, e.Name()) })
	if len(others) > 0 {
		var names []string
		for _, e := range others {
			names = append(names, e.Name())
		}
		return errors.Errorf("-out: want a folder to replace in which there is only what convert writes, got %s, where this would be lost: %s; move it "+
			"elsewhere, or name another folder",
			c.Out, strings.Join(names, ", "))
	}
	return nil
}
