package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer"
)

// counting is a source of token ids of its own: numbers below Most that count up, from another
// start in each document.
type counting struct {
	Most int `yaml:"most" min:"2" help:"number of numbers"`
}

func (counting) Name() string { return "counting" }

func (c counting) Open(data.Options, data.Tokenizer) (data.Reader, error) { return c, nil }

func (c counting) Files(context.Context) ([]data.File, error) {
	var files []data.File
	for i := range 40 {
		files = append(files, data.File{Name: fmt.Sprintf("%02d", i)})
	}
	return files, nil
}

func (c counting) Read(_ context.Context, f data.File, _ *data.Encoder, emit func(data.Document) error) error {
	start, err := strconv.Atoi(f.Name)
	ids := []int32{int32(c.Most)}
	for i := range 30 {
		ids = append(ids, int32((start+i)%c.Most))
	}
	if err != nil {
		return err
	}
	return emit(data.Document{Name: f.Name, Tokens: data.NewTokens(c.Most+1, ids)})
}

func (c counting) Tokenizer() data.Tokenizer { return numbers{c.Most} }

// numbers are the ids of counting, written as decimal numbers with a space after each.
type numbers struct{ most int }

func (numbers) Name() string { return "numbers" }
func (n numbers) Vocab() int { return n.most + 1 }
func (n numbers) BOS() int32 { return int32(n.most) }

func (n numbers) Encode(dst []int32, text string) []int32 {
	for _, word := range strings.Fields(text) {
		if id, err := strconv.Atoi(word); err == nil && id < n.most {
			dst = append(dst, int32(id))
		}
	}
	return dst
}

func (n numbers) Decode(ids []int32) string {
	text := ""
	for _, id := range ids {
		if int(id) < n.most {
			text += strconv.Itoa(int(id)) + " "
		}
	}
	return text
}

// TestASourceOfItsOwnVocabulary: a model is trained on token ids that are no text, resumed, scored
// and sampled by them, and its files, opened by a program that lacks the source, are refused by its
// name.
func TestASourceOfItsOwnVocabulary(t *testing.T) {
	zoo, run := models.Standard().WithKinds(counting{Most: 7}), filepath.Join(t.TempDir(), "run")
	call := func(zoo models.Zoo, args ...string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		return Main(zoo, args, &stdout, &stderr), stdout.String(), stderr.String()
	}
	args := []string{"train", "-config", "quickstart-transformer", "-out", run}
	for _, set := range []string{"data.source={kind: counting, most: 11}", "data.split=hash/4", "model.layers=1", "model.stream.d_model=16", "model.attention.heads=2",
		"model.feedforward.hidden=16", "model.seq=8", "train.batch=4", "train.lr=1e-2", "train.schedule={kind: constant}", "train.steps=60", "sample.prompt=3 4"} {
		args = append(args, "-set", set)
	}
	code, _, stderr := call(zoo, args...)
	require.Zero(t, code, stderr)
	code, stdout, stderr := call(zoo, "generate", "-checkpoint", run, "-prompt", "3 4 5 ", "-tokens", "8", "-temperature", "0")
	require.Zero(t, code, stderr)
	require.Equal(t, "3 4 5 6 7 8 9 10 0 1 2", strings.TrimSpace(stdout))
	code, stdout, stderr = call(zoo, "eval", "-checkpoint", run)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "bits per byte")
	code, _, stderr = call(models.Standard(), "eval", "-checkpoint", run)
	require.NotZero(t, code)
	require.Contains(t, stderr, `want one of goroot, files, shards, conversations, mqar, memorization, bottleneck-copy, got "counting"`)
	code, _, stderr = call(zoo, append(args, "-set", "data.tokenizer=bytes", "-resume", "auto")...)
	require.NotZero(t, code)
	require.Contains(t, stderr, `data.tokenizer: want one of numbers, got "bytes"`)
}

// TestATask: a run on a task has rows of whole examples and the task's mask, says which share of
// the answers is right, and does not score them again when it is resumed.
func TestATask(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	call := func(args ...string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		return Main(models.Standard(), args, &stdout, &stderr), stdout.String(), stderr.String()
	}
	args := []string{"train", "-config", "quickstart-transformer", "-out", run}
	for _, set := range []string{"data.source={kind: bottleneck-copy, examples: 400, vocabulary: 2, tokens: 3}", "data.split=hash/4", "model.layers=1", "model.stream.d_model=8", "model.attention.heads=2",
		"model.feedforward.hidden=8", "train.batch=4", "train.lr=1e-2", "train.steps=3", "train.eval_tokens=64", "sample.tokens=0", "train.tensorboard=true"} {
		args = append(args, "-set", set)
	}
	code, stdout, stderr := call(args...)
	require.Zero(t, code, stderr)
	said := regexp.MustCompile(`over 24 tokens, accuracy (0\.\d+) \(chance 0.5000\)`).FindStringSubmatch(stdout)
	require.Len(t, said, 2, stdout)
	config, err := os.ReadFile(filepath.Join(run, "config.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(config), "mask_documents: true")
	code, stdout, stderr = call("eval", "-checkpoint", run)
	require.Zero(t, code, stderr)
	require.Regexp(t, "accuracy +"+said[1]+".*\nchance +0.500000", stdout)
	metrics, err := trainer.ReadMetrics(run)
	require.NoError(t, err)
	require.Equal(t, said[1], metrics[2].ValAccuracy.Text("%.4f"))
	events, err := os.ReadFile(filepath.Join(run, "events.out.tfevents.residua"))
	require.NoError(t, err)
	require.Contains(t, string(events), "validation/accuracy")
	code, _, stderr = call("report", run)
	require.Zero(t, code, stderr)
	page, err := os.ReadFile(filepath.Join(run, "report.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "Accuracy on held-out examples")
	code, _, stderr = call(append(args, "-resume", "auto")...)
	require.Zero(t, code, stderr)
	require.NotContains(t, stderr, "validation loss")
	code, _, stderr = call(append(args, "-set", "model.seq=12")...)
	require.NotZero(t, code)
	require.Contains(t, stderr, "model.seq: want a multiple of the 8 tokens of an example of source bottleneck-copy, got 12")
}
