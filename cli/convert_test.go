package cli

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// llamaHF is a folder of Hugging Face's.
const llamaHF = "../testdata/reference/llama-hf"

// callConvert calls convert.
func callConvert(args ...string) clitest.Outcome {
	return call(append([]string{"convert"}, args...)...)
}

func converted(t *testing.T, args ...string) clitest.Outcome {
	t.Helper()
	got := callConvert(args...)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	return got
}

// TestConvertThereAndBack: a run's model goes to a Hugging Face folder and back to a file, byte for
// byte that which the run has.
func TestConvertThereAndBack(t *testing.T) {
	run := clitest.Train(t)
	dir := t.TempDir()
	folder, first, second := filepath.Join(dir, "hf"), filepath.Join(dir, "first.safetensors"), filepath.Join(dir, "second.safetensors")
	got := converted(t, "-checkpoint", run.Dir, "-format", "huggingface", "-out", folder)
	require.Equal(t, "wrote "+folder+": huggingface, 1", got.Stdout[:len("wrote "+folder+": huggingface, 1")])
	require.Contains(t, got.Stderr, "note: no class of transformers computes this model: load it with trust_remote_code=True")
	converted(t, "-checkpoint", folder, "-format", "residua", "-out", first)
	converted(t, "-checkpoint", first, "-format", "huggingface", "-replace", "-out", folder)
	converted(t, "-checkpoint", folder, "-format", "residua", "-out", second)
	a, err := os.ReadFile(first)
	require.NoError(t, err)
	b, err := os.ReadFile(second)
	require.NoError(t, err)
	require.Equal(t, a, b)
	converted(t, "-checkpoint", run.Dir, "-format", "residua", "-replace", "-out", second)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 3, "nothing temporary is left")
}

func TestConvertRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	home := filepath.Join(dir, "home")
	require.NoError(t, os.MkdirAll(filepath.Join(home, "deep"), 0o777))
	texts := filepath.Join(dir, "texts")
	require.NoError(t, os.Mkdir(texts, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(texts, "a.txt"), nil, 0o600))
	out := filepath.Join(dir, "out")
	for _, c := range []struct {
		args string
		want string
	}{
		{"", "-checkpoint: want a run folder"},
		{"-checkpoint " + llamaHF, "-out: want the path of what is to be written, got nothing"},
		{"-checkpoint " + llamaHF + " -out " + out, `-format: unknown format "": want one of residua, huggingface, peft, rmt, gguf`},
		{"-checkpoint " + llamaHF + " -format onnx -out " + out, `-format: unknown format "onnx"`},
		{"-checkpoint nowhere -format residua -out " + out, "got nowhere, which does not exist"},
		{"-checkpoint " + llamaHF + " -format huggingface -out " + home, "home, which exists: name another, or add -replace"},
		{"-checkpoint " + llamaHF + " -format huggingface -replace -out " + home, "which has the folder deep in it"},
		{"-checkpoint " + llamaHF + " -format huggingface -replace -out " + texts, "texts: want a folder of LoRA adapters of peft's (with adapter_config.json), on a model that is on this machine, or a Hugging Face folder"},
		{"-checkpoint " + llamaHF + " -format huggingface -replace -out " + file, "want a folder to replace"},
		{"-checkpoint " + llamaHF + " -format residua -replace -out " + home, "want a file to replace"},
		{"-checkpoint " + llamaHF + " -format residua -out " + file, "which exists"},
		{"-checkpoint " + llamaHF + " -format huggingface -type f16 -out " + out, `-type: want f32 with -format huggingface, got "f16"`},
		{"-checkpoint " + llamaHF + " -format residua -type f16 -out " + out, `-type: want f32 or bf16 with -format residua, got "f16"`},
		{"-checkpoint " + llamaHF + " -format gguf -type q4_0 -out " + out, `-type: want f32 or f16 or bf16 or q8_0 with -format gguf, got "q4_0"`},
		{"-checkpoint ../testdata/reference/rmt-official -format gguf -out " + out, "gguf: want an architecture that llama.cpp has: gpt2: model.stream.kind: want vector, got matrix"},
		{"-checkpoint " + llamaHF + " -format huggingface -architecture gpt2 -out " + out, "gpt2: model."},
		{"-checkpoint " + llamaHF + " -format gguf -out " + out, "gguf: want a model with a tokenizer"},
		{"-adopt " + file + " -out " + out, "-adopt: want it alone"},
		{"-adopt " + file + " -type bf16 -replace", "-adopt: want it alone, got it with -replace and -type"},
		{"-adopt nowhere.safetensors", "-adopt: stat nowhere.safetensors: no such file or directory"},
		{"-checkpoint " + llamaHF + " -format huggingface -architecture bert -out " + out, "-architecture: want one of [gpt2 llama qwen3 mistral qwen2 gpt_neox gemma2 gemma3_text olmo2 smollm3 granite phi3 nanochat residua]"},
	} {
		got := callConvert(strings.Fields(c.args)...)
		lines := strings.SplitAfter(got.Stderr, "\n")
		got.Stderr = strings.Join(lines[max(0, len(lines)-2):], "") // warnings come before
		got.Refused(t, c.want)
		require.NoFileExists(t, out)
		require.NoDirExists(t, out)
	}
	require.DirExists(t, filepath.Join(home, "deep"))
	require.FileExists(t, filepath.Join(texts, "a.txt"))
}

// TestReplaceKeepsAUsersFiles: a folder with files that convert does not write is not replaced.
func TestReplaceKeepsAUsersFiles(t *testing.T) {
	for _, format := range []string{"huggingface", "rmt"} {
		from, folder := "../testdata/reference/rmt-official", filepath.Join(t.TempDir(), "out")
		converted(t, "-checkpoint", from, "-format", format, "-out", folder)
		converted(t, "-checkpoint", from, "-format", "huggingface", "-replace", "-out", folder)
		converted(t, "-checkpoint", from, "-format", format, "-replace", "-out", folder)
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		for _, e := range entries {
			require.Contains(t, pretrained.ExportedFiles(models.Standard()), e.Name())
		}
		for _, name := range []string{"README.md", "notes"} {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("mine"), 0o600))
		}
		callConvert("-checkpoint", from, "-format", format, "-replace", "-out", folder).Refused(t,
			"-out: want a folder to replace in which there is only what convert writes, got "+folder+", where this would be lost: README.md, notes; move it elsewhere, or name another folder")
		text, err := os.ReadFile(filepath.Join(folder, "README.md"))
		require.NoError(t, err)
		require.Equal(t, "mine", string(text))
	}
}

// TestConvertRefusesDivergedWeights: a weight that is not a number goes into no format.
func TestConvertRefusesDivergedWeights(t *testing.T) {
	dir := t.TempDir()
	from, out := filepath.Join(dir, "llama"), filepath.Join(dir, "out")
	require.NoError(t, os.CopyFS(from, os.DirFS(llamaHF)))
	file, err := checkpoint.ReadTensors(filepath.Join(from, "model.safetensors"))
	require.NoError(t, err)
	file.Tensors[1].Data.([]float32)[2] = float32(math.NaN())
	require.NoError(t, checkpoint.WriteTensors(filepath.Join(from, "model.safetensors"), file.Tensors, file.Metadata))
	for _, f := range pretrained.Exporters(models.Standard()) {
		got := callConvert("-checkpoint", from, "-format", f.Name(), "-out", out)
		require.Equal(t, commandline.ExitUsage, got.Code)
		require.Contains(t, got.Stderr, ": want finite values, got NaN at 2\n", f.Name())
		require.NoFileExists(t, out)
		require.NoDirExists(t, out)
	}
}

// TestConvertBFloat16: a model in bfloat16 has the rounded weights of the one it was made of, and
// stays the same when it is converted again.
func TestConvertBFloat16(t *testing.T) {
	run, dir := clitest.Train(t).Dir, t.TempDir()
	half, again := filepath.Join(dir, "half.safetensors"), filepath.Join(dir, "again.safetensors")
	converted(t, "-checkpoint", run, "-format", "residua", "-type", "bf16", "-out", half)
	converted(t, "-checkpoint", half, "-format", "residua", "-type", "bf16", "-out", again)
	first, err := os.ReadFile(half)
	require.NoError(t, err)
	second, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Equal(t, first, second)
	whole, err := pretrained.Open(run)
	require.NoError(t, err)
	rounded, err := pretrained.Open(half)
	require.NoError(t, err)
	for i, p := range whole.Store.Params() {
		want := checkpoint.ToBFloat16s(p.Value.Data().([]float32))
		require.Equal(t, []float32(want), rounded.Store.Params()[i].Value.Data(), p.Name)
	}
}
