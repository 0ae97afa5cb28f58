package report

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// TestProbe: the embedding tells the token's own class and not much of the next one's; a matrix is
// also probed by key.
func TestProbe(t *testing.T) {
	m := tiny(t, stream.MatrixConfig{Dk: 6, Dv: 8, Rank: 3})
	m.Text = func(context.Context, []string, int) (ids []int32, err error) {
		for i := range 40 {
			ids = append(ids, m.Tokenizer.BOS())
			for j := range 23 {
				ids = append(ids, int32("ab7 \nxyz, 1"[(i*i+j*j*(1+i%3)+j/2)%11]))
			}
		}
		return ids, nil
	}
	find := func(o Probe) []oneOf {
		o.Rows, o.Names, o.Folds = 40, []string{"blocks.0.attention.stream"}, 3
		r, err := analyse(m, o)
		require.NoError(t, err)
		whole := r.Results["probes"].(*probed)
		assert.ElementsMatch(t, []string{"letter", "digit", "space", "end of a line", "other"}, whole.Classes)
		require.Len(t, whole.Probes, 2)
		require.Len(t, r.Parts, 3)
		require.Len(t, r.Results["part-1"].(*probed).Probes, 6)
		assert.Contains(t, r.Parts[2].Table.Title, "each key of blocks.0.attention.stream")
		return whole.Probes
	}
	own, next := find(Probe{}), find(Probe{Offset: 1})
	assert.Equal(t, "embedding.out", own[0].Name)
	assert.Equal(t, 48, own[0].Entries)
	assert.Greater(t, own[0].Accuracy.Mean, 0.95)
	assert.Greater(t, own[0].Accuracy.Mean, own[0].Chance.High)
	assert.Less(t, next[0].Accuracy.Mean, own[0].Accuracy.Mean-0.1)

	labels := filepath.Join(t.TempDir(), "labels.csv")
	var lines strings.Builder
	for row := range 8 {
		for position := range 4 {
			fmt.Fprintf(&lines, "%d,%d,%s\n", row, position, map[bool]string{true: "first", false: "later, or not"}[position == 0])
		}
	}
	require.NoError(t, os.WriteFile(labels, []byte(lines.String()), 0o644))
	o := Probe{}
	require.NoError(t, o.Labels.UnmarshalText([]byte(labels)))
	o.Prompts = Prompts{"abcd", "bcde", "cdef", "defg", "efgh", "fghi", "ghij", "hijk"}
	r, err := analyse(m, o)
	require.NoError(t, err)
	found := r.Results["probes"].(*probed)
	assert.Equal(t, 32, found.Tokens)
	assert.Equal(t, []string{"first", "later, or not"}, found.Classes)
	o.Labels = Labels{{0, 0, "one"}}
	_, err = analyse(m, o)
	require.ErrorIs(t, err, check.ValueError{Name: "labels"})
	require.NoError(t, os.WriteFile(labels, []byte("1,2,x\n1,x,y\n"), 0o644))
	require.ErrorContains(t, o.Labels.UnmarshalText([]byte(labels)), labels+`:2: want ROW,POSITION,LABEL, got "1,x,y"`)
}
