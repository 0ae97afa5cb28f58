package report

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/crash"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/mixing"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// tiny is a model of 2 blocks of 3 heads that reads bytes, of up to 24 tokens.
func tiny(t *testing.T, design stream.Design) *Model {
	t.Helper()
	preset, err := models.Standard().Preset("quickstart-transformer")
	require.NoError(t, err)
	c := preset.Config
	c.Stream, c.Layers, c.Seq = design, 2, 24
	c.Attention.Positions = models.PositionsLearned
	if c.Attention.Heads = 3; design.Name() == (stream.MatrixConfig{}).Name() { // its heads are its Rank
		c.Attention.Heads = 0
	}
	tokenizer, err := data.NewTokenizer("bytes")
	require.NoError(t, err)
	spec := modeltest.Resolve(t, c)
	return &Model{Name: "tiny", Store: modeltest.PerturbedStore(t, spec, tensor.Float32), Spec: spec, Tokenizer: tokenizer}
}

func vector(t *testing.T) *Model { return tiny(t, stream.VectorConfig{Vectors: stream.Vectors{D: 12}}) }

// some is a result of two figures.
type some struct{ Number int }

func (some) Table() figure.Table {
	return figure.Table{Title: "Some", Header: []string{"a", "b"}, Align: "lr", Rows: [][]string{{"x|y", "1"}}}
}

func (some) Figures() []figure.Figure {
	return []figure.Figure{figure.Bars{Title: "One", Labels: []string{"a"}, Values: []float64{1}}, figure.Bars{Title: "Two", Labels: []string{"a"}, Values: []float64{2}}}
}

// TestWrite: a folder gets a page, and of each part tables and numbered figures, nothing else.
func TestWrite(t *testing.T) {
	r := New("Title", "about")
	r.Add("first", "First", "What is seen.", some{7})
	dir := filepath.Join(t.TempDir(), "new", "folder")
	require.NoError(t, r.Write(dir))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	assert.Equal(t, []string{"first-1.png", "first-1.svg", "first-2.png", "first-2.svg", "first.csv", "first.md", PageFile}, names)
	f, err := os.Open(filepath.Join(dir, "first.csv"))
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"a", "b"}, {"x|y", "1"}}, rows)
	for name, want := range map[string]string{"first.md": "What is seen.", "first-2.svg": "<svg", "first-2.png": "\x89PNG", PageFile: "What is seen."} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Contains(t, string(content), want, name)
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.ErrorContains(t, r.Write(file), file)
}

// TestReport: the terminal shows a brief table instead of a long one; JSON has the result itself.
func TestReport(t *testing.T) {
	r := New("Title", "about")
	r.Tokens = []Token{{0, 256, "BOS"}, {1, 97, "a"}}
	p := r.Add("first", "First", "", some{7})
	assert.Equal(t, "about. 2 tokens: BOS a\n\nSome\n\na    b\n---  -\nx|y  1\n", r.String())
	p.Brief = &figure.Table{Rows: [][]string{{"brief"}}}
	assert.Equal(t, "about. 2 tokens: BOS a\n\nbrief\n", r.String())
	document, err := json.Marshal(r)
	require.NoError(t, err)
	assert.JSONEq(t, `{"analysis": "", "tokens": [{"position": 0, "id": 256, "text": "BOS"}, {"position": 1, "id": 97, "text": "a"}], "results": {"first": {"Number": 7}}}`, string(document))
}

// analyse runs an analysis as its callers do.
func analyse(m *Model, a Analysis) (*Report, error) { return Run(context.Background(), m, a) }

// everyAnalysis are the analyses that a model has, without options where they are ready so.
func everyAnalysis(t *testing.T, m *Model) map[string]Analysis {
	t.Helper()
	all, err := Analyses(m.Zoo)
	require.NoError(t, err)
	named := map[string]Analysis{}
	for _, a := range Supported(all, m.Spec) {
		named[a.Name()] = a
	}
	named["steer"] = Steer{Toward: "a", Scale: 1}
	probed := Probe{Names: []string{"blocks.1.attention.heads"}}
	for i := range 12 { // the models have no text of their own
		probed.Prompts = append(probed.Prompts, strings.Repeat("ab 7"[i%4:], 3)+strings.Repeat("x\n1 ", 2))
	}
	named["probe"] = probed
	return named
}

// checked is a context that ends after a number of questions whether it has.
type checked struct {
	context.Context
	left atomic.Int64
}

func (c *checked) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestAnalysesEnd: analyses that take long, because of their settings or of the model's size, ask
// again and again whether they shall go on.
func TestAnalysesEnd(t *testing.T) {
	const many = 1_000_000
	matrix, vectors := tiny(t, stream.MatrixConfig{Dk: 6, Dv: 8, Rank: 3}), vector(t)
	text := vector(t)
	text.Text = func(context.Context, []string, int) ([]int32, error) { return make([]int32, 20*text.Spec.Seq), nil }
	for name, c := range map[string]struct {
		m *Model
		a Analysis
	}{
		"memory":           {matrix, Memory{Seeds: many}},
		"rotation":         {vectors, Rotation{RotationReportOptions: analysis.RotationReportOptions{Seeds: many}}},
		"optimizers":       {vectors, Rotation{RotationReportOptions: analysis.RotationReportOptions{Seeds: 1}, Steps: many}},
		"basis":            {vectors, Basis{BasisOptions: analysis.BasisOptions{Controls: many}}},
		"circuits":         {vectors, Circuits{Draws: many}},
		"circuits of keys": {matrix, Circuits{Draws: many}},
		"tuned lens":       {text, Lens{Tuned: Tuned{Train: true, Steps: many}}},
		"wiring":           {vectors, Wiring{}},
		"heads":            {vectors, Heads{}},
		"subspaces":        {vectors, Subspaces{}},
		"paths":            {vectors, Paths{}},
		"ablate":           {vectors, Ablate{}},
		"blocks":           {vectors, Ablate{Blocks: true}},
		"patch":            {vectors, Patch{}},
		"patch, gradients": {vectors, Patch{Method: PatchAttribution}},
		"directions":       {text, Directions{OverRows: OverRows{Rows: 20}}},
		"rows of a stream": {tiny(t, stream.MHCConfig{Vectors: stream.Vectors{D: 12}, N: 2}), Mixing{}},
		"sources of a sum": {tiny(t, stream.DenseFormerConfig{Vectors: stream.Vectors{D: 12}}), Mixing{}},
		"export":           {vectors, Export{}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, checks := range []int64{0, 1, 3} {
				ctx := &checked{Context: t.Context()}
				ctx.left.Store(checks)
				failed := make(chan error)
				go func() {
					_, err := Run(ctx, c.m, c.a)
					failed <- err
				}()
				select {
				case err := <-failed:
					if checks == 0 || ctx.left.Load() < 0 {
						require.ErrorIs(t, err, context.Canceled)
					}
				case <-time.After(time.Minute):
					t.Fatal("the analysis goes on")
				}
			}
		})
	}
}

// TestZeroOptions: every analysis that a stream has is ready without options, and says what it is
// of.
func TestZeroOptions(t *testing.T) {
	for name, a := range everyAnalysis(t, vector(t)) {
		t.Run(name, func(t *testing.T) {
			r, err := analyse(vector(t), a)
			require.NoError(t, err)
			assert.Equal(t, name, r.Analysis)
			assert.Equal(t, "vector", r.Stream)
			assert.Contains(t, r.About, "tiny: vector stream, d_model=12, 2 layers of 3 heads")
			require.NotEmpty(t, r.Parts)
			for _, p := range r.Parts {
				assert.NoError(t, figure.Check(p.Table), p.Name)
				assert.Contains(t, r.Results, p.Name)
			}
		})
	}
	r, err := analyse(tiny(t, stream.MHCConfig{Vectors: stream.Vectors{D: 12}, N: 2}), Mixing{History: []mixing.Logged{{Step: 3, Mixing: []mixing.Brief{{Name: "a", Kind: stream.MixingCarry, Moved: 0.5}}}}})
	require.NoError(t, err)
	assert.Equal(t, "mixing", r.Analysis)
	assert.Equal(t, []string{"moves", "history", "depth", "rescue"}, partsOf(r))
	_, err = json.Marshal(r)
	require.NoError(t, err)
	r, err = analyse(tiny(t, stream.DenseFormerConfig{Vectors: stream.Vectors{D: 12}}), Mixing{})
	require.NoError(t, err)
	require.Equal(t, []string{"moves", "depth", "sources"}, partsOf(r), "no rows, but sources")
	r, err = analyse(tiny(t, stream.MatrixConfig{Dk: 6, Dv: 8, Rank: 3}), Memory{})
	require.NoError(t, err)
	assert.Equal(t, "memory", r.Analysis)
}

// otherHeadName is how a head must not be called: it is blocks.1.attention.2.
var otherHeadName = regexp.MustCompile(`(?i)\bheads? \d|\.heads[. ]\d|layer \d+ head`)

// TestOneNameOfAHead: tables, figures, headings and JSON call a head by one name.
func TestOneNameOfAHead(t *testing.T) {
	all := everyAnalysis(t, vector(t))
	all["one head"] = Heads{Place: Place{Layer: new(1), Head: new(2)}}
	all["paths"] = Paths{PathOptions: analysis.PathOptions{Heads: true}}
	all["patch pairs"] = Patch{Pairs: []PatchPair{{Prompt: "line 7", Corrupt: "lime 7"}, {Prompt: "abc", Corrupt: "adc"}}}
	named := 0
	for name, a := range all {
		r, err := analyse(vector(t), a)
		require.NoError(t, err, name)
		texts := []string{r.String()}
		for _, p := range r.Parts {
			figures, err := json.Marshal(p.Figures)
			require.NoError(t, err)
			texts = append(texts, p.Heading, p.Table.Text(), string(figures))
		}
		document, err := json.Marshal(r)
		require.NoError(t, err)
		for _, text := range append(texts, string(document)) {
			assert.NotRegexp(t, otherHeadName, text, name)
			named += strings.Count(text, "blocks.1.attention.2")
		}
	}
	assert.Greater(t, named, len(all))
}

// TestWordsAreExplained: a table says under it what the words of its header mean that are not
// plain.
func TestWordsAreExplained(t *testing.T) {
	models := map[string]*Model{"memory": tiny(t, stream.MatrixConfig{Dk: 6, Dv: 8, Rank: 3}), "mixing": tiny(t, stream.MHCConfig{Vectors: stream.Vectors{D: 12}, N: 2})}
	all := everyAnalysis(t, vector(t))
	all["memory"], all["mixing"] = Memory{}, Mixing{}
	words := []string{"score", "times random", "carried", "false discoveries", "induction", "effective rank", "stable rank", "deviations", "Welch bound",
		"effective", "signal", "largest share", "kurtosis", "across", "breaker", "gain", "composite gain", "entropy", "spread", "share regained", "rank"}
	explained := map[string]bool{}
	for name, a := range all {
		r, err := analyse(cmp.Or(models[name], vector(t)), a)
		require.NoError(t, err)
		for _, p := range r.Parts {
			for _, word := range words {
				if slices.Contains(p.Table.Header, word) {
					explained[word] = true
					assert.Contains(t, p.Table.Note, word+":", p.Name)
				}
			}
		}
	}
	assert.Len(t, explained, len(words))
}

// TestAttributeBeginsWithWhatTheModelSays: the likeliest tokens, then the logit by site, by head
// and by the other parts; each table adds up.
func TestAttributeBeginsWithWhatTheModelSays(t *testing.T) {
	m := vector(t)
	o := Attribute{Prompt: Prompt{Text: "line 7"}, Contrast: Contrast{Target: Target{Target: "z"}, Against: "q"}, Top: 4}
	r, err := analyse(m, o)
	require.NoError(t, err)
	require.Equal(t, []string{"answer", "attribution", "heads", "parts"}, partsOf(r))
	run, err := m.run([]int32{256, 108, 105, 110, 101, 32, 55}, nil)
	require.NoError(t, err)
	logits, err := run.TokenLogits(6)
	require.NoError(t, err)
	answer := r.Results["answer"].(*Answer)
	require.Len(t, answer.Likeliest, answerShown+2, "the two that were asked for, which are not among the likeliest")
	assert.Equal(t, []string{"z", "q"}, []string{answer.Likeliest[answerShown].Text, answer.Likeliest[answerShown+1].Text})
	assert.Equal(t, floats.MaxIdx(logits), answer.Likeliest[0].ID)
	for _, p := range answer.Likeliest {
		assert.InDelta(t, math.Exp(logits[p.ID]-floats.LogSumExp(logits)), p.Probability, 1e-12)
	}
	a := r.Results["attribution"].(*analysis.Attribution)
	assert.Equal(t, "logit of z (id 122) minus that of q (id 113) after token 6 (7), by site", r.Parts[1].Table.Title)
	assert.InDelta(t, a.Sum, total(t, r.Parts[1].Table, 2), 1e-3)
	heads, parts := r.Results["heads"].(*analysis.Ranking), r.Results["parts"].(*analysis.Ranking)
	assert.Equal(t, 6, heads.Count)
	assert.Len(t, heads.Largest, 4)
	assert.Equal(t, "by neuron", r.Parts[3].Heading[len("What wrote the logit, "):])
	for i, ranking := range []*analysis.Ranking{heads, parts} {
		assert.InDelta(t, ranking.Sum, total(t, r.Parts[2+i].Table, 1), 1e-3)
		assert.Len(t, r.Parts[2+i].Table.Rows, 6, "four, the others, all")
	}
	single := a.Contributions[0].Value + a.Contributions[1].Value // the tables of tokens and positions
	assert.InDelta(t, a.Sum, a.Constant+single+heads.Sum+parts.Sum, 1e-9)

	o.Place = Place{Layer: new(1), Head: new(2)}
	r, err = analyse(m, o)
	require.NoError(t, err)
	assert.Equal(t, []string{"answer", "attribution", "heads"}, partsOf(r))
	assert.Equal(t, 1, r.Results["heads"].(*analysis.Ranking).Count)
}

// total returns the sum of a table's numbers without those of the last but rows.
func total(t *testing.T, table figure.Table, but int) float64 {
	sum := 0.0
	for _, row := range table.Rows[:len(table.Rows)-but] {
		v, err := strconv.ParseFloat(row[1], 64)
		require.NoError(t, err)
		sum += v
	}
	return sum
}

// agrees compares a report without options with a report with the defaults that the options' tags
// name.
func agrees(t *testing.T, m *Model, zero Analysis, defaults ...func(Analysis)) {
	t.Helper()
	filled := settings.Settable(zero)
	require.NoError(t, settings.SetDefaults(filled))
	if seed := reflect.ValueOf(filled).Elem().FieldByName("Seed"); seed.IsValid() {
		seed.SetUint(0)
	}
	for _, set := range defaults {
		set(filled)
	}
	want, err := analyse(m, zero)
	require.NoError(t, err)
	got, err := analyse(m, filled)
	require.NoError(t, err)
	assert.Equal(t, want.String(), got.String(), "%T", zero)
}

// TestDefaultsOfTags: options that are zero and those of the tags' defaults are the same, but for
// seeds and the steps of Rotation.
func TestDefaultsOfTags(t *testing.T) {
	for _, m := range []*Model{vector(t), tiny(t, stream.MatrixConfig{Dk: 6, Dv: 8, Rank: 3}), tiny(t, stream.MHCConfig{Vectors: stream.Vectors{D: 12}, N: 2})} {
		for name, a := range everyAnalysis(t, m) {
			if m.Spec.Stream.Name() == "vector" || name == "memory" || name == "mixing" {
				agrees(t, m, a, func(filled Analysis) {
					if r, ok := filled.(*Rotation); ok {
						r.Steps = 0
					}
				})
			}
		}
	}
}

// partsOf are the names of a report's parts.
func partsOf(r *Report) []string {
	var names []string
	for _, p := range r.Parts {
		names = append(names, p.Name)
	}
	return names
}

// TestRefused: what options get wrong is an error of a type, which names the option.
func TestRefused(t *testing.T) {
	m := vector(t)
	bare := *m
	bare.Tokenizer = nil
	ids := []int32{1, 2, 3}
	for _, c := range []struct {
		analysis string
		model    *Model
		options  Patch
		want     error
	}{
		{"lens", m, Patch{Prompt: Prompt{Text: "a", IDs: ids}}, check.ValueError{Name: "prompt", Got: "both"}},
		{"lens", m, Patch{Prompt: Prompt{Text: "a"}}, check.ValueError{Name: "prompt", Got: `"a" of 1`}},
		{"lens", m, Patch{Prompt: Prompt{IDs: ids[:1]}}, check.ValueError{Name: "ids", Got: "1"}},
		{"lens", m, Patch{Prompt: Prompt{IDs: []int32{1, 257}}}, check.RangeError{Name: "ids: token 1", N: 257, Got: 257}},
		{"lens", m, Patch{Prompt: Prompt{IDs: make([]int32, 25)}}, check.ValueError{Name: "ids", Got: "25"}},
		{"lens", m, Patch{Contrast: Contrast{Target: Target{Token: new(24)}}}, check.ValueError{Name: "token", Got: "24"}},
		{"lens", m, Patch{Contrast: Contrast{Target: Target{Target: "abc"}}}, check.ValueError{Name: "target", Want: "one token"}},
		{"lens", m, Patch{Contrast: Contrast{Target: Target{Target: "-1"}}}, check.RangeError{Name: "target", N: 257, Got: -1}},
		{"lens", &bare, Patch{}, check.ValueError{Name: "ids"}},
		{"lens", &bare, Patch{Prompt: Prompt{Text: "ab"}}, check.ValueError{Name: "prompt"}},
		{"patch", m, Patch{Prompt: Prompt{IDs: ids}}, check.ValueError{Name: "corrupt", Got: "none"}},
		{"patch", m, Patch{Prompt: Prompt{IDs: ids}, CorruptIDs: ids}, check.ValueError{Name: "corrupt", Got: "the same"}},
		{"patch", m, Patch{Prompt: Prompt{IDs: ids}, CorruptIDs: ids[:2]}, check.ValueError{Name: "corrupt", Got: "2"}},
		{"patch", m, Patch{Contrast: Contrast{Target: Target{Target: "a"}, Against: "a"}}, check.ValueError{Name: "against"}},
	} {
		var a Analysis = c.options
		if c.analysis == "lens" {
			a = Lens{Prompt: c.options.Prompt, Target: c.options.Target}
		}
		_, err := analyse(c.model, a)
		assert.ErrorIs(t, err, c.want)
	}
	_, err := analyse(m, Attribute{Place: Place{Layer: new(2)}})
	assert.ErrorIs(t, err, check.ValueError{Name: "layer", Got: "2"})
	_, err = analyse(m, Heads{Rows: 100_000, Period: 20})
	assert.ErrorIs(t, err, check.ValueError{Name: "rows"})
	_, err = analyse(m, Ablate{At: cache.At{"head": 1}})
	assert.ErrorIs(t, err, check.ValueError{Name: "at"})
	_, err = analyse(m, Memory{})
	assert.ErrorIs(t, err, check.UnsupportedError{Analysis: "memory", Stream: "vector", Want: "a stream that is written by key vectors"})
	assert.ErrorContains(t, err, "memory: want a stream that is written by key vectors, got the vector stream, which has attribute, lens, ")
	_, err = analyse(m, Ablate{Top: -1})
	assert.EqualError(t, err, "top: want >= 1, got -1")
	m.Tokens = 4
	_, err = analyse(m, Lens{Prompt: Prompt{Text: "line"}})
	assert.EqualError(t, err, "prompt: want at most 4 tokens, got 5")
}

// TestIndex: an open one is what is usual, one below 0 counts from the end.
func TestIndex(t *testing.T) {
	for asked, want := range map[*int]int{nil: 7, new(0): 0, new(2): 2, new(-1): 2, new(-3): 0} {
		got, err := index("head", asked, 3, 7)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// TestRobustnessOfReports: a report whose writing is interrupted at any step is whole after the
// next call.
func TestRobustnessOfReports(t *testing.T) {
	points := 4
	if longtest.Exhaustive() { // the campaign of make robustness has others
		points = 40
	}
	crash.Test(t, crash.Work{
		Name: "analyze -out",
		Do: func(folder string, disk checkpoint.Disk) error {
			r := New("Title", "about")
			r.Add("first", "First", "What is seen.", some{7})
			return r.write(disk, folder)
		},
		Left: func(folder string) map[string]string { return crash.Contents(t, folder) },
	}, points)
}
