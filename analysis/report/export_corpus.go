package report

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis/corpus"
	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models/check"
)

// corpusFile is, in the folder of a corpus of activations, the JSON of its Corpus.
const corpusFile = "corpus.json"

// Corpus says what the shards of a corpus of activations hold: the activations and, of each token,
// "row", "position" in it, "document" and "token", its id, all int32.
type Corpus struct {
	Model       string               `json:"model"` // sha256 of the model's parameters and of the text
	Rows        int                  `json:"rows"`
	Tokens      int                  `json:"tokens"`
	Shards      int                  `json:"shards"`
	ShardRows   int                  `json:"shard_rows"` // of each but the last
	Bytes       int                  `json:"bytes"`      // of all shards' arrays
	Activations []ExportedActivation `json:"activations"`

	files []string
}

// labels are the arrays of a shard that are no activations.
var labels = [...]string{"row", "position", "document", "token"}

// shards writes the activations of a corpus. What an earlier call with the same model, text, names
// and size of shards has written is left as it is.
func (o Export) shards(ctx context.Context, m *Model, rows []corpus.Row) (*Corpus, error) {
	r, err := corpus.Open(m.Store, m.Spec, rows, o.names(m)...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c := o.plan(m.Store, r, rows)
	if m.Note != nil {
		m.Note(c.summary())
	}
	plan, _ := json.MarshalIndent(c, "", "\t") // of texts and integers
	for _, dir := range slices.DeleteFunc([]string{o.Safetensors, o.NPY}, func(dir string) bool { return dir == "" }) {
		c.files = append(c.files, dir)
		earlier, err := os.ReadFile(filepath.Join(dir, corpusFile))
		if err == nil && string(earlier) != string(plan) {
			return nil, check.Value("out", "a folder without the corpus of another model, text or choice of activations", dir)
		}
		if err := errors.WithStack(os.MkdirAll(dir, 0o777)); err != nil {
			return nil, err
		}
		if err := (checkpoint.Disk{}).WriteFile(filepath.Join(dir, corpusFile), plan); err != nil {
			return nil, err
		}
	}
	for shard := range c.Shards {
		safetensors, npy := filepath.Join(o.Safetensors, shardName(shard)+".safetensors"), filepath.Join(o.NPY, shardName(shard))
		if wantsNo(o.Safetensors, safetensors) && wantsNo(o.NPY, npy) {
			continue
		}
		arrays, err := c.read(ctx, m, r, rows, shard)
		if err != nil {
			return nil, err
		}
		e := &Exported{}
		for k, a := range c.Activations {
			a.Shape = arrays[k].Shape
			e.Activations = append(e.Activations, a)
		}
		if !wantsNo(o.Safetensors, safetensors) {
			if err := e.writeSafetensors(safetensors, arrays, nil); err != nil {
				return nil, err
			}
		}
		if !wantsNo(o.NPY, npy) {
			if err := e.writeNPY(npy, arrays, nil); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

func shardName(shard int) string { return fmt.Sprintf("shard-%05d", shard) }

// wantsNo tells whether path needs no writing into dir: because there is no dir, or because the
// path exists.
func wantsNo(dir, path string) bool {
	_, err := os.Lstat(path)
	return dir == "" || err == nil
}

// plan counts what the shards will hold.
func (o Export) plan(store *graph.Store, r *corpus.Reader, rows []corpus.Row) *Corpus {
	c, perToken, longest := &Corpus{Model: digest(store, rows), Rows: len(rows)}, len(labels), 0
	for _, row := range rows {
		c.Tokens, longest = c.Tokens+len(row.IDs), max(longest, len(row.IDs))
	}
	for _, a := range r.Tokens {
		perToken += tensor.Shape(a.Shape).TotalSize()
		c.Activations = append(c.Activations, ExportedActivation{Name: a.Name, Axes: append([]string{graph.TokenAxis}, a.Axes...),
			Shape: append([]int{c.Tokens}, a.Shape...)})
	}
	const bytes = 4 // of a number
	c.Bytes = c.Tokens * perToken * bytes
	c.ShardRows = cmp.Or(o.rowsPerShard, min(len(rows), max(1, o.ShardMB<<20/(longest*perToken*bytes))))
	c.Shards = (len(rows) + c.ShardRows - 1) / c.ShardRows
	return c
}

// digest returns the SHA-256 checksum of a model's parameters and a text.
func digest(store *graph.Store, rows []corpus.Row) string {
	hash := sha256.New()
	for _, p := range store.Params() {
		fmt.Fprintln(hash, p.Name)
		_ = binary.Write(hash, binary.LittleEndian, graph.Float64s(p.Value)) // a hash takes all
	}
	for _, row := range rows {
		_ = binary.Write(hash, binary.LittleEndian, append([]int32{int32(len(row.IDs))}, row.IDs...))
	}
	return fmt.Sprintf("%x", hash.Sum(nil))
}

// summary says how much is written.
func (c *Corpus) summary() string {
	return fmt.Sprintf("%d activations of %s tokens in %s rows take %s in %d shards", len(c.Activations), figure.Thousands(int64(c.Tokens)),
		figure.Thousands(int64(c.Rows)), graph.FormatBytes(c.Bytes), c.Shards)
}

// read runs the model on the rows of a shard and returns its arrays.
func (c *Corpus) read(ctx context.Context, m *Model, r *corpus.Reader, rows []corpus.Row, shard int) ([]checkpoint.Tensor, error) {
	var of [len(labels)][]int32
	values := make([][]float32, len(r.Tokens))
	for i := shard * c.ShardRows; i < min((shard+1)*c.ShardRows, len(rows)); i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all, err := r.Row(i)
		if err != nil {
			return nil, err
		}
		for k, a := range all {
			values[k] = append(values[k], float32s(a.Values)...)
		}
		for t, id := range rows[i].IDs {
			for k, label := range [len(labels)]int32{int32(i), int32(t), rows[i].Documents[t], id} {
				of[k] = append(of[k], label)
			}
		}
		m.done(i+1, len(rows))
	}
	var arrays []checkpoint.Tensor
	for k, a := range r.Tokens {
		arrays = append(arrays, checkpoint.Tensor{Name: a.Name, Shape: append([]int{len(of[0])}, a.Shape...), Data: values[k]})
	}
	for k, label := range labels {
		arrays = append(arrays, checkpoint.Tensor{Name: label, Shape: []int{len(of[0])}, Data: of[k]})
	}
	return arrays, nil
}

// Table lists the activations.
func (c *Corpus) Table() figure.Table {
	t := figure.NewTable(c.summary(), "lll", "name", "axes", "shape")
	if len(c.files) > 0 {
		t.Title += ", written to " + strings.Join(c.files, " and ")
	}
	for _, a := range c.Activations {
		t.Row(a.Name, strings.Join(a.Axes, ", "), a.shape())
	}
	return t
}
