package report

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/stream"
)

// others are a value of each setting that is not its default, with the settings that it needs next
// to it.
var others = map[string]string{
	"prompt": "line 7", "ids": "1,2,3", "bos": "false", "token": "1", "target": "b", "against": "c", "layer": "1", "head": "1", "top": "2",
	"prompts": "#prompts.txt", "patch prompts": "#pairs.txt", "heads head": "1 layer=1", "directions top": "1 rows=8", "steer seed": "7 temperature=1", "steer at": "head=1 name=blocks.0.attention.heads", "rows": "2", "period": "3", "seed": "7", "full": "false", "draws": "5", "whole": "true",
	"changes from": "#other.safetensors", "fdr": "1", "from": "embedding to=unembedding", "to": "unembedding from=embedding", "controls": "2", "name": "blocks.0.attention.heads", "count": "2",
	"seeds": "2", "steps": "2", "with": "mean rows=2", "restore": "true rows=2", "blocks": "true", "names": "embedding.out", "at": "head=1 names=blocks.0.attention.heads",
	"corrupt": "lime prompt=line", "corrupt-ids": "3,2,1 ids=1,2,3", "method": "attribution", "points": "2 method=integrated", "patch to": "blocks.1.feedforward.norm.out", "patch at": "head=1 to=blocks.1.attention.q", "patch names": "embedding.out", "heads": "true", "toward": "b", "away": "c", "scale": "2", "relative": "true", "tokens": "3",
	"temperature": "2", "tuned": "true", "tuned-file": "#lens/tuned-lens.safetensors", "data": "x tuned=true", "tuned-tokens": "96 tuned=true", "tuned-steps": "2 tuned=true",
	"safetensors": "#x.safetensors", "npy": "#npy", "export data": "x",
	"probe rows": "2", "probe data": "x", "probe prompts": "#many.txt", "probe names": "embedding.out prompts=#many.txt", "offset": "1 prompts=#many.txt", "labels": "#labels.csv prompts=#many.txt",
	"probe method": "logistic prompts=#many.txt", "folds": "2 prompts=#many.txt", "probe seed": "7 prompts=#many.txt", "shard-mb": "1 rows=8", "config": "quickstart",
}

// TestEverySettingChangesSomething: what each setting of each analysis is for shows in its report,
// of one of several models.
func TestEverySettingChangesSomething(t *testing.T) {
	longtest.Skip(t)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "prompts.txt"), []byte("ab\ncd\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "pairs.txt"), []byte("ab\tac\ncd\tcc\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "many.txt"), []byte("a b1 cd\nx 2\nu=v w\nc d\n(e f)\n12 g\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "labels.csv"), []byte("0,0,a\n1,0,a\n2,1,b\n3,1,b\n4,0,a\n5,1,b\n"), 0o644))
	all, err := Analyses(models.Standard())
	require.NoError(t, err)
	var read []*Model
	for _, d := range []stream.Design{stream.VectorConfig{Vectors: stream.Vectors{D: 12}}, stream.MatrixConfig{Dk: 6, Dv: 8, Rank: 3}, stream.HyperConfig{Vectors: stream.Vectors{D: 12}, N: 2, Dynamic: true},
		stream.GatedResidualConfig{Vectors: stream.Vectors{D: 12}, N: 2, Rank: 3}} {
		m := tiny(t, d)
		m.Text = func(_ context.Context, files []string, tokens int) (ids []int32, err error) {
			for i := range 9000 {
				ids = append(ids, int32(i*i*(3+len(files))%101))
			}
			return ids[:min(len(ids), max(tokens, 200))], nil
		}
		read = append(read, m)
	}
	other := tiny(t, stream.VectorConfig{Vectors: stream.Vectors{D: 12}})
	gain := other.Store.Param("norm").Value.Float32s()
	gain[0]++
	require.NoError(t, pretrained.Save(filepath.Join(folder, "other.safetensors"), other.Store, pretrained.Description{Spec: other.Spec}))
	r, err := analyse(read[0], Lens{Tuned: Tuned{Train: true, Steps: 2, Tokens: 96}})
	require.NoError(t, err)
	require.NoError(t, r.Write(filepath.Join(folder, "lens")))
	for _, a := range all {
		t.Run(a.Name(), func(t *testing.T) {
			flags, err := settings.NewFlags(settings.Settable(a))
			require.NoError(t, err)
			for _, f := range flags {
				value, known := others[a.Name()+" "+f.Name]
				if !known {
					value, known = others[f.Name]
				}
				require.True(t, known, "others: want a value of %s", f.Name)
				changed := slices.ContainsFunc(read, func(m *Model) bool {
					if !a.Card().Paper && len(Supported([]Analysis{a}, m.Spec)) == 0 {
						return false
					}
					value, with, _ := strings.Cut(strings.ReplaceAll(value, "#", folder+"/"), " ")
					if f.Name == "prompt" {
						value, with = value+" "+with, ""
					}
					return told(t, m, a, with) != told(t, m, a, with, f.Name, value)
				})
				assert.True(t, changed, f.Name)
			}
		})
	}
}

// told is all that an analysis says with some settings, one of them as name=value, further ones as
// a name and a value.
func told(t *testing.T, m *Model, a Analysis, with string, more ...string) string {
	t.Helper()
	a = settings.Settable(a)
	require.NoError(t, settings.SetDefaults(a))
	flags, err := settings.NewFlags(a)
	require.NoError(t, err)
	switch a := a.(type) {
	case *Steer:
		a.Toward = "a"
	case *Lens:
		a.Tuned.Steps, a.Tuned.Tokens = 4, 1024 // by default it trains for seconds
	}
	if name, value, found := strings.Cut(with, "="); found {
		more = append([]string{name, value}, more...)
	}
	for i := 0; i < len(more); i += 2 {
		f, err := flags.Lookup(more[i])
		require.NoError(t, err)
		require.NoError(t, f.Set(more[i+1]), more)
	}
	r, err := analyse(m, a)
	if err != nil {
		assert.Less(t, len(more), 4, "%s %v: %v", a.Name(), more, err) // alone it may want another setting with it
		return err.Error()
	}
	text := r.String()
	for _, p := range r.Parts {
		drawn, err := json.Marshal(p.Figures)
		require.NoError(t, err)
		text += string(drawn)
	}
	return text
}
