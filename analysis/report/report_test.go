package report

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/analysis/check"
	"github.com/residua-go/residua/analysis/mixing"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
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

// TestReport: the terminal shows a brief table in the place of a long one, JSON the result itself.
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

// TestZeroOptions: every analysis that a stream has is ready without options, and says what it is of.
func TestZeroOptions(t *testing.T) {
	for name, of := range map[string]func(*Model) (*Report, error){
		analysis.AnalysisAttribute: func(m *Model) (*Report, error) { return Attribute(m, AttributeOptions{}) },
		analysis.AnalysisLens:      func(m *Model) (*Report, error) { return Lens(m, LensOptions{}) },
		analysis.AnalysisHeads:     func(m *Model) (*Report, error) { return Heads(m, HeadsOptions{}) },
		analysis.AnalysisCircuits:  func(m *Model) (*Report, error) { return Circuits(m, CircuitsOptions{}) },
		analysis.AnalysisWiring:    func(m *Model) (*Report, error) { return Wiring(m, WiringOptions{}) },
		analysis.AnalysisBasis:     func(m *Model) (*Report, error) { return Basis(m, BasisOptions{}) },
		analysis.AnalysisRotation:  func(m *Model) (*Report, error) { return Rotation(m, RotationOptions{}) },
		analysis.AnalysisSubspaces: func(m *Model) (*Report, error) { return Subspaces(m, SubspacesOptions{}) },
		analysis.AnalysisAblate:    func(m *Model) (*Report, error) { return Ablate(m, AblateOptions{}) },
		analysis.AnalysisPatch:     func(m *Model) (*Report, error) { return Patch(m, PatchOptions{}) },
		analysis.AnalysisExport:    func(m *Model) (*Report, error) { return Export(m, ExportOptions{}) },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := of(vector(t))
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
	r, err := Mixing(tiny(t, stream.MHCConfig{Vectors: stream.Vectors{D: 12}, N: 2}), MixingOptions{History: []mixing.Logged{{Step: 3, Mixing: []mixing.Brief{{Name: "a", Kind: stream.MixingCarry, Moved: 0.5}}}}})
	require.NoError(t, err)
	assert.Equal(t, analysis.AnalysisMixing, r.Analysis)
	assert.Equal(t, []string{"moves", "history", "depth", "rescue"}, partsOf(r))
	_, err = json.Marshal(r)
	require.NoError(t, err)
	r, err = Mixing(tiny(t, stream.DenseFormerConfig{Vectors: stream.Vectors{D: 12}}), MixingOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"moves", "depth", "sources"}, partsOf(r), "no rows, but sources")
	r, err = Memory(tiny(t, stream.MatrixConfig{Dk: 6, Dv: 8, Rank: 3}), MemoryOptions{})
	require.NoError(t, err)
	assert.Equal(t, analysis.AnalysisMemory, r.Analysis)
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
	run := map[string]func(m *Model, o PatchOptions) error{
		"lens": func(m *Model, o PatchOptions) error {
			_, err := Lens(m, LensOptions{Prompt: o.Prompt, Target: o.Target})
			return err
		},
		"patch": func(m *Model, o PatchOptions) error { _, err := Patch(m, o); return err },
	}
	for _, c := range []struct {
		analysis string
		model    *Model
		options  PatchOptions
		want     error
	}{
		{"lens", m, PatchOptions{Prompt: Prompt{Text: "a", IDs: ids}}, check.ValueError{Name: "prompt", Got: "both"}},
		{"lens", m, PatchOptions{Prompt: Prompt{Text: "a"}}, check.ValueError{Name: "prompt", Got: `"a" of 1`}},
		{"lens", m, PatchOptions{Prompt: Prompt{IDs: ids[:1]}}, check.ValueError{Name: "ids", Got: "1"}},
		{"lens", m, PatchOptions{Prompt: Prompt{IDs: []int32{1, 257}}}, check.RangeError{Name: "ids: token 1", N: 257, Got: 257}},
		{"lens", m, PatchOptions{Prompt: Prompt{IDs: make([]int32, 25)}}, check.ValueError{Name: "ids", Got: "25"}},
		{"lens", m, PatchOptions{Target: Target{Token: At(24)}}, check.ValueError{Name: "token", Got: "24"}},
		{"lens", m, PatchOptions{Target: Target{Target: "abc"}}, check.ValueError{Name: "target", Want: "one token"}},
		{"lens", m, PatchOptions{Target: Target{Target: "-1"}}, check.RangeError{Name: "target", N: 257, Got: -1}},
		{"lens", &bare, PatchOptions{}, check.ValueError{Name: "ids"}},
		{"lens", &bare, PatchOptions{Prompt: Prompt{Text: "ab"}}, check.ValueError{Name: "prompt"}},
		{"patch", m, PatchOptions{Prompt: Prompt{IDs: ids}}, check.ValueError{Name: "corrupt", Got: "none"}},
		{"patch", m, PatchOptions{Prompt: Prompt{IDs: ids}, CorruptIDs: ids}, check.ValueError{Name: "corrupt", Got: "the same"}},
		{"patch", m, PatchOptions{Prompt: Prompt{IDs: ids}, CorruptIDs: ids[:2]}, check.ValueError{Name: "corrupt", Got: "2"}},
		{"patch", m, PatchOptions{Target: Target{Target: "a", Against: "a"}}, check.ValueError{Name: "against"}},
	} {
		assert.ErrorIs(t, run[c.analysis](c.model, c.options), c.want)
	}
	_, err := Attribute(m, AttributeOptions{Place: Place{Layer: At(2)}})
	assert.ErrorIs(t, err, check.ValueError{Name: "layer", Got: "2"})
	_, err = Heads(m, HeadsOptions{Rows: 100_000, Period: 20})
	assert.ErrorIs(t, err, check.ValueError{Name: "rows"})
	_, err = Ablate(m, AblateOptions{At: cache.At{"head": 1}})
	assert.ErrorIs(t, err, check.ValueError{Name: "at"})
	_, err = Memory(m, MemoryOptions{})
	assert.ErrorIs(t, err, check.UnsupportedError{Analysis: analysis.AnalysisMemory, Stream: "vector"})
}

// TestIndex: an open one is what is usual, one below 0 counts from the end.
func TestIndex(t *testing.T) {
	for index, want := range map[Index]int{{}: 7, At(0): 0, At(2): 2, At(-1): 2, At(-3): 0} {
		got, err := index.of("head", 3, 7)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}
