package report

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/models/check"
)

// shardFiles are the contents of all files below a folder, by path.
func shardFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(content)
		return err
	}))
	return files
}

// TestExportCorpus: shards hold the activations of a run on each prompt by itself, with where each
// token is; a prompt that is too long is cut into rows, with a note; an interrupted call that is
// repeated ends with the same bits.
func TestExportCorpus(t *testing.T) {
	m, dir := vector(t), t.TempDir() // of 24 tokens at most
	m.Spec.Seq = 8
	var notes []string
	var progress [][2]int
	m.Note, m.Done = func(s string) { notes = append(notes, s) }, func(done, total int) { progress = append(progress, [2]int{done, total}) }
	names := []string{"blocks.*.attention.heads", "blocks.1.attention.scores"}
	no := false
	o := Export{Prompt: Prompt{BOS: &no}, Texts: Texts{Prompts: Prompts{"abcd", "0123456789", "xyz"}}, Names: names, Safetensors: filepath.Join(dir, "s"), NPY: filepath.Join(dir, "n")}
	o.rowsPerShard = 1
	r, err := analyse(m, o)
	require.NoError(t, err)
	require.Contains(t, r.About, "1 of 3 prompts are longer than 8 tokens and were cut into rows")
	require.Equal(t, []string{"3 activations of 17 tokens in 4 rows take 3.5 KB in 4 shards"}, notes)
	require.Equal(t, [2]int{4, 4}, progress[len(progress)-1])

	for i, text := range []string{"abcd", "01234567", "89", "xyz"} {
		file, err := checkpoint.ReadTensors(filepath.Join(o.Safetensors, shardName(i)+".safetensors"))
		require.NoError(t, err)
		ids, err := Prompt{Text: text, BOS: &no}.Read(m, 1)
		require.NoError(t, err)
		run, err := m.run(ids, names)
		require.NoError(t, err)
		require.Len(t, file.Tensors, 7)
		for _, x := range file.Tensors {
			switch data := x.Data.(type) {
			case []int32:
				for k, v := range data {
					assert.Equal(t, map[string]int32{"row": int32(i), "position": int32(k), "document": []int32{0, 1, 1, 2}[i], "token": ids[k]}[x.Name], v)
				}
			case []float32:
				a, err := run.Get(x.Name)
				require.NoError(t, err)
				size := len(a.Values) / len(ids)
				for k, v := range data {
					token, rest := k/(len(data)/len(ids)), k%(len(data)/len(ids))
					want := 0.0
					if strings.HasSuffix(x.Name, "scores") { // the keys' axis is longer
						if rest%8 >= len(ids) {
							continue
						}
						want = a.Values[token*size+rest/8*len(ids)+rest%8]
					} else {
						want = a.Values[k]
					}
					if v-float32(want) != 0 && !(want < -1e300) {
						assert.InDelta(t, want, v, 1e-5)
					}
				}
			}
		}
	}

	whole := shardFiles(t, dir)
	require.Len(t, whole, 2+4+4*8)
	require.NoError(t, os.Remove(filepath.Join(o.Safetensors, "shard-00002.safetensors")))
	require.NoError(t, os.RemoveAll(filepath.Join(o.NPY, "shard-00003")))
	ctx, stop := context.WithCancel(t.Context())
	m.Done = func(int, int) { stop() }
	_, err = Run(ctx, m, o)
	require.ErrorIs(t, err, context.Canceled)
	_, err = analyse(m, o)
	require.NoError(t, err)
	require.Equal(t, whole, shardFiles(t, dir))

	o.Names = names[:1]
	_, err = analyse(m, o)
	require.ErrorIs(t, err, check.ValueError{Name: "out"})
	require.Equal(t, whole, shardFiles(t, dir))
	_, err = analyse(m, Export{Texts: Texts{Prompts: Prompts{"a"}, OverRows: OverRows{Rows: 1}}})
	require.ErrorIs(t, err, check.ValueError{Name: "rows"})
	_, err = analyse(m, Export{Prompt: Prompt{Text: "a"}, Texts: Texts{Prompts: Prompts{"a"}}})
	require.ErrorIs(t, err, check.ValueError{Name: "prompts"})
}

// TestExportDocuments: rows of validation text and files have a document for each token that begins
// one.
func TestExportDocuments(t *testing.T) {
	m, dir := vector(t), t.TempDir()
	m.Spec.Seq = 4
	bos := m.Tokenizer.BOS()
	m.Text = func(_ context.Context, files []string, _ int) ([]int32, error) {
		return []int32{bos, 1, 2, bos, 3, 4, 5, 6, bos, bos, 7}[len(files):], nil
	}
	for name, c := range map[string]struct {
		texts Texts
		want  []int32
	}{
		"rows": {Texts{OverRows: OverRows{Rows: 2}}, []int32{0, 0, 0, 1, 1, 1, 1, 2}},
		"data": {Texts{Data: []string{"x"}}, []int32{0, 0, 1, 1, 1, 1, 1, 2, 3, 3}},
	} {
		_, err := analyse(m, Export{Texts: c.texts, Names: []string{"embedding.out"}, Safetensors: filepath.Join(dir, name)})
		require.NoError(t, err)
		file, err := checkpoint.ReadTensors(filepath.Join(dir, name, "shard-00000.safetensors"))
		require.NoError(t, err)
		document, err := file.Tensor("document")
		require.NoError(t, err)
		assert.Equal(t, c.want, document.Data, name)
	}
}
