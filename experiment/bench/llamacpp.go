package bench

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// LlamaCPP says how to run llama.cpp's side of a comparison, experiment/bench/llamacpp.py.
type LlamaCPP struct {
	Python string `yaml:"llamacpp" bare:"python3" help:"compare with llama.cpp in package xllamacpp of python3, or of -llamacpp=<PYTHON>; float32, bf16 and int8"`
	Script string `yaml:"llamacpp_script" default:"experiment/bench/llamacpp.py" help:"run llama.cpp by <FILE>"`
}

func (l *LlamaCPP) script() script { return script{l.Python, l.Script, "-llamacpp-script"} }

// Check returns an error if the script is missing.
func (l *LlamaCPP) Check(context.Context, Target) error { return l.script().exists("llama.cpp") }

// command returns the command that generates with the model in a job's file.
func (l *LlamaCPP) command(ctx context.Context, j job) *exec.Cmd {
	j.Target.Precision = "" // the file has its own
	return l.script().command(ctx, j)
}

// weightPrecisions returns the types in which Residua stores weights when it is compared with
// llama.cpp.
func weightPrecisions() []graph.Precision {
	return []graph.Precision{graph.FP32, graph.BF16, graph.INT8}
}

// llamaTypes returns the GGUF types that are compared with weights of a precision.
func llamaTypes(p graph.Precision) []string {
	switch p {
	case graph.BF16:
		return []string{"BF16", "F16"}
	case graph.INT8:
		return []string{"Q8_0"}
	}
	return []string{"F32"}
}

// writeGGUF writes a workload's model into a folder, once for each type, with the same random
// weights as Residua's own job. It returns an error if llama.cpp does not have the model.
func writeGGUF(w Workload, folder string) error {
	m := &pretrained.Model{Zoo: models.Standard(), Store: graph.NewStore(tensor.Float32, 1), Description: pretrained.Description{Spec: w.Spec}}
	var err error
	if m.Data.Tokenizer, err = tokenizerOf(w.Spec.Vocab); err != nil {
		return err
	}
	if _, err := models.New(gorgonia.NewGraph(), w.Spec, graph.Options{Store: m.Store}); err != nil {
		return err
	}
	for _, p := range weightPrecisions() {
		for _, name := range llamaTypes(p) {
			if _, err := m.Export("gguf", ggufFile(folder, name), pretrained.ExportOptions{Type: strings.ToLower(name)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// ggufFile returns the path of a type's file.
func ggufFile(folder, name string) string { return filepath.Join(folder, name+".gguf") }

// tokenizerOf returns the name of our largest tokenizer that fits a vocabulary, since
// llama.cpp's server opens no model without a tokenizer; "" if none fits.
func tokenizerOf(vocab int) (string, error) {
	best, largest := "", 0
	for _, name := range data.TokenizerNames() {
		t, err := data.NewTokenizer(name)
		if err != nil {
			return "", err
		}
		if n := t.Vocab(); n <= vocab && n > largest {
			best, largest = name, n
		}
	}
	return best, nil
}
