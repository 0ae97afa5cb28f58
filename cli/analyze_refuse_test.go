package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/cli/analyze"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// TestAnalyzeRefuses: what a call gets wrong is one line, exit code 2.
func TestAnalyzeRefuses(t *testing.T) {
	matrix, vector := trainedStream(t, "matrix"), trainedStream(t, "vector")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	pairs := filepath.Join(t.TempDir(), "pairs.jsonl")
	require.NoError(t, os.WriteFile(pairs, []byte(`{"prompt": "a b", "corrupt": "a c"}`+"\n"+`{"prompt": "a"}`), 0o644))
	for _, c := range []struct {
		args string // # stands for the matrix model, @ for the vector model
		want string
	}{
		{"", "want a command, got nothing (ours analyze -h lists all commands)"},
		{"lense -checkpoint #", `unknown command "lense"; did you mean lens?`},
		{"attr -checkpoint #", `unknown command "attr"; did you mean attribute?`},
		{"lens", "-checkpoint: want zoo:quickstart, "},
		{"lens -checkpoint none", "got none, which does not exist"},
		{"lens -chekpoint #", "did you mean -checkpoint? (ours analyze lens -h lists all flags)"},
		{"lens -checkpoint # -threads -1", "-threads: want >= 0"},
		{"lens -checkpoint # -device cuda", "unknown flag -device"},
		{"lens -checkpoint # -out " + file, "-out: want a folder that can be made"},

		{"lens -checkpoint # -prompt=", "-prompt: want a value, got an empty one"},
		{"attribute -checkpoint # -prompt=", "-prompt: want a value, got an empty one"},
		{"lens -checkpoint # -prompt a", "-prompt: want a text of at least 2 tokens, got \"a\" of 1"},
		{"heads -checkpoint # -ids 5", "-ids: want at least 2 tokens, got 1"},
		{"basis -checkpoint # -ids 5", "-ids: want at least 2 tokens, got 1"},
		{"lens -checkpoint # -prompt ab -ids 1,2", "-prompt: want a text or token ids, got both"},
		{"lens -checkpoint # -ids 1,x", `-ids: want whole numbers such as 1,2,3, got "x"`},
		{"lens -checkpoint # -ids 1,2,257", "-ids: token 2: want 0 to 256, got 257"},
		{"lens -checkpoint # -ids 1,-2", "-ids: token 1: want an id of 0 to"},
		{"lens -checkpoint @ -prompt " + strings.Repeat("x", 49), "-prompt: want at most 48 tokens, the model's learned positions, got 50"},

		{"lens -checkpoint # -prompt abc -token 4", "-token: want 0 to 3, or -1 to -4 from the end, got 4"},
		{"lens -checkpoint # -prompt abc -token -5", "-token: want 0 to 3, or -1 to -4 from the end, got -5"},
		{"lens -checkpoint # -token x", `-token: want an integer, got "x"`},
		{"lens -checkpoint # -target abc", `-target: want one token, got "abc" of 3, ids 97,98,99: choose one of them`},
		{"lens -checkpoint # -target=", "-target: want a value, got an empty one"},
		{"lens -checkpoint # -target 257", "-target: want 0 to 256, got 257"},
		{"attribute -checkpoint # -target a -against a", "-against: want another token than the target, got a (id 97) for both"},
		{"attribute -checkpoint # -against ab", `-against: want one token, got "ab" of 2`},
		{"attribute -checkpoint # -layer 2", "-layer: want 0 to 1, or -1 to -2 from the end, got 2"},
		{"attribute -checkpoint # -head 3", "-head: want 0 to 2, or -1 to -3 from the end, got 3"},
		{"attribute -checkpoint # -top 0", "-top: want >= 1, got 0"},
		{"heads -checkpoint @ -period 25", "-period: twice that: want at most 48 tokens, the model's learned positions, got 50"},
		{"heads -checkpoint # -period 1", "want a period of at least 2 tokens"},

		{"ablate -checkpoint # -names blocks.0.atention.heads", "did you mean blocks.0.attention.heads?"},
		{"ablate -checkpoint # -names blocks.[", "want a name or a glob such as blocks.*.attention.pattern"},
		{"ablate -checkpoint # -names blocks.0.attention.heads -at head=3", "head: want 0 to 2, got 3"},
		{"ablate -checkpoint # -names blocks.0.attention.heads -at layer=1", "; want one of token, head"},
		{"ablate -checkpoint # -names blocks.0.attention.heads -at head", "-at: want AXIS=N,..., such as head=3,token=5"},
		{"ablate -checkpoint # -at head=1", "-at: want names with it, got none"},
		{"attribute -checkpoint # -prompts none.txt", "-prompts: open none.txt: no such file or directory"},
		{"attribute -checkpoint # -prompts " + file, "-prompts: " + file + ": want a prompt on each line, got nothing"},
		{"ablate -checkpoint # -prompt ab -prompts ../go.mod", "-prompts: want a list of prompts, or one prompt, got both"},
		{"ablate -checkpoint # -restore", "-restore: want several rows (prompts, or rows of validation text), got one prompt"},
		{"ablate -checkpoint # -rows 2 -restore -names blocks.0.attention.heads", "-restore: want all heads, without names, got blocks.0.attention.heads"},
		{"ablate -checkpoint # -blocks -restore", "-blocks: want only rows, prompt or ids with it, got another setting"},
		{"ablate -checkpoint # -rows 1", "-rows: want at least 2, for a standard error, got 1"},
		{"ablate -checkpoint # -rows 2 -prompt ab", "-prompts: want a list of prompts, or one prompt, got both"},
		{"ablate -checkpoint # -with mean", "-with: want zero for one prompt, or several rows (prompts, or rows of validation text), got mean"},
		{"ablate -checkpoint # -rows 2 -with median", `-with: want one of zero, mean, resample, got "median"`},
		{"paths -checkpoint # -rows 1000000", "-rows: want at most "},
		{"directions -checkpoint # -count 500", "want at least 8000 for 500 directions"},
		{"patch -checkpoint # -prompts " + file, "-prompts: " + file + ": want a pair of prompts on each line, got nothing"},
		{"patch -checkpoint # -prompts ../go.mod", "-prompts: ../go.mod:1: want a prompt, a tab and a corrupt prompt"},
		{"patch -checkpoint # -prompts " + pairs, "-prompts: " + pairs + `:2: want an object with texts "prompt" and "corrupt"`},
		{"patch -checkpoint # -method gradient", `-method: want one of activation, attribution, integrated, got "gradient"`},
		{"attribute -checkpoint # -prompts ../go.mod -target abc", "-prompts: prompt 1: target: want one token, got "},
		{"steer -checkpoint #", "-toward: want a text, got none"},
		{"steer -checkpoint # -toward a -name blocks.9", "want one of "},
		{"steer -checkpoint # -toward a -at head=1", "-at: want axes of "},
		{"steer -checkpoint # -toward a -tokens 0", "-tokens: want >= 1, got 0"},
		{"steer -checkpoint # -toward a -scale 0", "-scale: want a number other than 0, got"},
		{"steer -checkpoint # -toward a -scale inf", "-scale: want a number, got \"inf\""},
		{"export -checkpoint # -names blocks.*.heads", "want one of "},
		{"export -checkpoint # -npy " + file, "-npy: want a folder that is not there yet, got "},
		{"export -checkpoint # -safetensors=", "-safetensors: want a value, got an empty one"},
		{"patch -checkpoint # -prompt abc", "-corrupt: want another prompt of as many tokens, got none"},
		{"patch -checkpoint # -prompt abc -corrupt ab", "-corrupt: want as many tokens as the prompt has, 4, got 3"},
		{"patch -checkpoint # -prompt abc -corrupt abc", "-corrupt: want another prompt, got the same"},
		{"circuits -checkpoint # -layer -3", "-layer: want 0 to 1, or -1 to -2 from the end, got -3"},
		{"wiring -checkpoint # -from embedding", "-from: want it with -to, or neither, got one of them"},
		{"wiring -checkpoint # -from embeding -to unembedding", "did you mean embedding?"},
		{"wiring -checkpoint # -from blocks.1.attention -to blocks.0.attention.q", "want a reader after blocks.1.attention"},
		{"memory -checkpoint # -seeds 9223372036854775807", "-seeds: want <= 1000000, got 9223372036854775807"},
		{"basis -checkpoint # -controls 9223372036854775807", "-controls: want <= 1000000, got 9223372036854775807"},
		{"rotation -checkpoint # -seeds 9223372036854775807", "-seeds: want <= 1000000, got 9223372036854775807"},
		{"heads -checkpoint # -rows 9223372036854775807", "-rows: want <= 1000000, got 9223372036854775807"},
		{"heads -checkpoint # -period 9223372036854775807", "-period: want <= 1000000, got 9223372036854775807"},
		{"heads -checkpoint # -rows 100000 -period 20", "-rows: want rows times period of at most 1000000, got 100000 times 20"},
		{"lens -checkpoint # -threads 9223372036854775807", "-threads: want <= 1024, got 9223372036854775807"},
		{"wiring -checkpoint # -fdr 0", "-fdr: want >= 1e-6, got 0"},
		{"memory -checkpoint # -seeds 1", "-seeds: want >= 2, got 1"},
		{"memory -checkpoint # -seeds 0", "-seeds: want >= 2, got 0"},
		{"basis -checkpoint # -controls 0", "-controls: want >= 1, got 0"},
		{"rotation -checkpoint # -seeds 0", "-seeds: want >= 1, got 0"},

		{"lens -checkpoint " + gpt2HF, "-ids: want token ids such as 1,2,3, each below 113, got none: the model has no tokenizer"},
		{"lens -checkpoint " + gpt2HF + " -prompt ab", "-prompt: want token ids such as 1,2,3, each below 113, got \"ab\": the model has no tokenizer"},
		{"lens -checkpoint " + gpt2HF + " -ids 1,2 -target ab", `-target: want token ids such as 1,2,3, each below 113, got "ab": the model has no tokenizer`},
		{"patch -checkpoint " + gpt2HF + " -ids 1,2 -corrupt ab", "-corrupt: want token ids such as 1,2,3, each below 113, got \"ab\": the model has no tokenizer"},
		{"memory -checkpoint " + gpt2HF, "memory: want a stream that is written by key vectors, got the vector stream, which has attribute, lens, heads, circuits, "},
		{"theory -seed x", `-seed: want an integer >= 0, got "x"`},
		{"theory -config ../configs/none.yaml", "config: want a YAML file"},
		{"theory -config ../configs/mhc.yaml", "-config: ../configs/mhc.yaml: mhc: stream: want matrix or vector"},
	} {
		t.Run(c.args, func(t *testing.T) {
			args := strings.NewReplacer("#", matrix, "@", vector).Replace(c.args)
			got := callAnalyze(strings.Fields(args)...)
			got.Stderr = strings.TrimPrefix(got.Stderr, warning(got.Stderr))
			got.Refused(t, c.want)
		})
	}
}

// warning is the line that an imported model begins with.
func warning(stderr string) string {
	if line, _, found := strings.Cut(stderr, "\n"); found && strings.HasPrefix(line, "warning: ") {
		return line + "\n"
	}
	return ""
}

// TestAnalyzeHelp: every command shows a call that works first, and its own flags.
func TestAnalyzeHelp(t *testing.T) {
	all := analyzeWorks(t, "-h")
	assert.True(t, strings.HasPrefix(all, "Example:\n"))
	for _, c := range analyze.Suite(models.Standard()).Commands {
		assert.Contains(t, all, "\n  "+c.Name+" ")
		got := callAnalyze(c.Name, "-h")
		assert.Equal(t, commandline.ExitOK, got.Code)
		assert.True(t, strings.HasPrefix(got.Stdout, "Example:\n  ours analyze "+c.Name), got.Stdout)
		for _, flag := range []string{"-json ", "-out DIR"} {
			assert.Contains(t, got.Stdout, "\n  "+flag)
		}
	}
	for _, flag := range []string{"-checkpoint PATH", "-threads N", "-prompt TEXT", "-ids 1,2,3", "-token N", "-target T"} {
		assert.Contains(t, analyzeWorks(t, "lens", "-h"), "\n  "+flag)
	}
}
