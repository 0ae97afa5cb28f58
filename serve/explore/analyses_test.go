package explore_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/serve/explore"
)

// listed returns the analyses that an Explorer offers.
func (c client) listed() (names []string, all []explore.Listed) {
	c.t.Helper()
	w := httptest.NewRecorder()
	c.e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/explorer/analyses", nil))
	require.NoError(c.t, strict(w.Body.String(), &all))
	for _, a := range all {
		names = append(names, a.Name)
	}
	return names, all
}

// analysed is the answer of an analysis.
type analysed struct {
	Analysis, Title, About string
	Results                map[string]any
	Tokens                 []report.Token
	Sections               []struct {
		Heading    string
		Paragraphs []string
		Figures    []struct {
			Title, Kind string
			Data        json.RawMessage
			Table       *figure.Table
		}
	}
}

func (c client) analyse(name, body string) (a analysed) {
	c.t.Helper()
	require.NoError(c.t, json.Unmarshal(c.post("/explorer/analyses/"+name, body, http.StatusOK).Bytes(), &a))
	return a
}

// TestAnalyses: every analysis that is listed answers with tables and figures; the others say what
// the model's stream lacks.
func TestAnalyses(t *testing.T) {
	quick := map[string]string{"rotation": `"steps": 0, "seeds": 1`, "memory": `"seeds": 2`, "basis": `"controls": 1`, "probe": `"prompts": ["ab c", "1 d", "e f", "2g", "h i j"], "names": ["embedding.out"]`, "steer": `"toward": "ab", "tokens": 2`, "patch": `"prompt": "line", "corrupt": "lime"`}
	ours, err := report.Analyses(models.Standard())
	require.NoError(t, err)
	c := texts(t)
	names, _ := c.listed()
	for _, a := range ours {
		name := a.Name()
		t.Run(name, func(t *testing.T) {
			c := client{t, c.e}
			if !slices.Contains(names, name) {
				if !a.Card().Paper {
					assert.Contains(t, c.message("/explorer/analyses/"+name, "{}", http.StatusBadRequest), name+": want a stream ")
				}
				return
			}
			if testing.Short() && quick[name] == "" && name != "lens" {
				t.Skip("each takes a second")
			}
			found := c.analyse(name, "{"+quick[name]+"}")
			assert.Equal(t, name, found.Analysis)
			assert.Contains(t, found.About, "tiny: ")
			require.NotEmpty(t, found.Sections)
			assert.Len(t, found.Results, len(found.Sections))
			for _, s := range found.Sections {
				require.NotEmpty(t, s.Figures, s.Heading)
				last := s.Figures[len(s.Figures)-1]
				assert.Equal(t, "table", last.Kind)
				assert.NotEmpty(t, last.Table.Header, s.Heading)
				for _, f := range s.Figures[:len(s.Figures)-1] {
					assert.NotEmpty(t, f.Data, f.Kind)
				}
			}
		})
	}
	assert.Subset(t, names, []string{"attribute", "lens", "export"})
}

// TestAnalysisSettings: a request has the settings of the command's flags, with the same bounds,
// and has a list where a flag takes a text or a file; it cannot name files of the server.
func TestAnalysisSettings(t *testing.T) {
	c := texts(t)
	assert.Len(t, c.analyse("lens", `{"ids": [97, 98, 99]}`).Tokens, 3)
	assert.Len(t, c.analyse("lens", `{"prompt": "abc", "bos": false}`).Tokens, 3)
	assert.Contains(t, c.analyse("attribute", `{"prompts": ["ab", "cd"], "top": 3}`).Results, "heads")
	assert.Contains(t, c.analyse("ablate", `{"prompt": "ab", "names": ["blocks.0.attention.heads"], "at": {"head": 1}}`).Results, "ablation")
	assert.Contains(t, c.analyse("patch", `{"prompts": [{"prompt": "ab", "corrupt": "ac"}, {"prompt": "ab", "corrupt": "cb"}]}`).Results, "average")
	for want, call := range map[string][2]string{
		`top: want >= 1, got 0`:                   {"attribute", `{"top": 0}`},
		`topp: unknown key; did you mean top?`:    {"attribute", `{"topp": 0}`},
		`prompt: want a string, got number`:       {"attribute", `{"prompt": 1}`},
		`prompts: want an array, got a string`:    {"attribute", `{"prompts": "/etc/passwd"}`},
		`safetensors: cannot be set in JSON`:      {"export", `{"safetensors": "/tmp/x"}`},
		`tuned_file: cannot be set in JSON`:       {"lens", `{"tuned_file": "/tmp/x"}`},
		`ids[1]: want an integer, got string`:     {"lens", `{"ids": [1, "2"]}`},
		`method: want one of activation, attribu`: {"patch", `{"method": "grad"}`},
		`at: want names with it, got none`:        {"ablate", `{"at": {"head": 1}}`},
		`prompt: want at most 96 tokens`:          {"lens", `{"prompt": "` + strings.Repeat("a", 96) + `"}`},
		`layer: want 0 to 1, or -1 to -2 from`:    {"attribute", `{"layer": 2}`},
	} {
		assert.True(t, strings.HasPrefix(c.message("/explorer/analyses/"+call[0], call[1], http.StatusBadRequest), want), want)
	}
	c.post("/explorer/analyses/none", "{}", http.StatusNotFound)
	_, all := c.listed()
	for _, a := range all {
		assert.NotEmpty(t, a.Summary)
		for _, key := range a.Settings {
			assert.NotEmpty(t, key.Help, "%s: %s", a.Name, key.Name)
			local := slices.Contains([]string{"safetensors", "npy", "tuned_file", "data"}, key.Name) || a.Name == "changes" && key.Name == "from"
			assert.Equal(t, local, key.Local, "%s: %s", a.Name, key.Name)
		}
	}
}

// words is an analysis from another module, used through a pointer.
type words struct {
	Times int `yaml:"times" default:"2" min:"1" help:"repeat <N> times"`
}

func (*words) Name() string      { return "words" }
func (*words) Card() report.Card { return report.Card{Summary: "counts"} }
func (w *words) Run(_ context.Context, m *report.Model) (*report.Report, error) {
	r := m.NewReport("Words", nil)
	r.Add("words", "Words", "", count(w.Times))
	return r, nil
}

type count int

func (c count) Table() figure.Table {
	return figure.Table{Rows: [][]string{slices.Repeat([]string{"a"}, int(c))}}
}

// TestAnalysisOfAnotherModule: an analysis that the zoo adds is listed and answered; settings of
// one request do not affect another.
func TestAnalysisOfAnotherModule(t *testing.T) {
	spec := modeltest.Resolve(t, modeltest.Small(models.Standard())[0].Config)
	m := &pretrained.Model{Store: modeltest.PerturbedStore(t, spec, tensor.Float32), Zoo: models.Standard().WithKinds(&words{})}
	m.Spec, m.Source.ModelPath = spec, filepath.Join(t.TempDir(), "model.safetensors")
	c := open(t, m, explore.Options{Threads: 1})
	names, _ := c.listed()
	assert.Equal(t, "words", names[len(names)-1])
	assert.EqualValues(t, 3, c.analyse("words", `{"times": 3}`).Results["words"])
	assert.EqualValues(t, 2, c.analyse("words", `{}`).Results["words"])
	assert.Equal(t, "times: want >= 1, got 0", c.message("/explorer/analyses/words", `{"times": 0}`, http.StatusBadRequest))
	m.Zoo = m.Zoo.WithKinds(&words{})
	_, err := explore.New(m, explore.Options{})
	assert.ErrorContains(t, err, `analysis "words": want one of that name in the zoo, got *explore_test.words`)
}
