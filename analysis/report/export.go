package report

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// Export writes activations of a run on a prompt to files. Its fields say which activations and
// which files.
type Export struct {
	Prompt
	Texts                // instead of Prompt: a corpus, in folders of shards
	Names       []string `yaml:"names" help:"take the activations of name or glob <G>, such as blocks.*.attention.heads; may be repeated; without, all"`
	Safetensors string   `yaml:"safetensors" local:"true" help:"write them to <FILE>, replacing it; of -rows, -data or -prompts, to shards in a folder"`
	// NPY is the path of a new folder for files NAME.npy and activations.json or, of a corpus, for
	// such folders.
	NPY     string `yaml:"npy" local:"true" help:"write each to NAME.npy in folder <DIR>, which is made"`
	ShardMB int    `yaml:"shard_mb" default:"256" min:"1" max:"1000000" help:"write shards of about <N> MiB"` // 0: 256

	rowsPerShard int // of tests; 0: as ShardMB says
}

// Name is export.
func (Export) Name() string { return "export" }

// Card describes Export.
func (Export) Card() Card {
	return Card{
		Summary: "activations of a run on a prompt, by name, as safetensors or .npy files",
		Example: `
			analyze export -checkpoint runs/quickstart    # lists all names
			analyze export -checkpoint runs/quickstart -prompt "if err != " -names 'blocks.*.attention.heads' -safetensors /tmp/heads.safetensors
			analyze export -checkpoint runs/quickstart -names 'blocks.*.*.stream' -npy /tmp/stream
			analyze export -checkpoint runs/quickstart -rows 1000 -names blocks.2.attention.stream -safetensors /tmp/corpus`,
		Notes: `
			Values are float32, the last axis changes fastest. The names of the axes and the prompt's
			tokens are JSON in the safetensors file's metadata (axes, tokens), and in the folder's
			` + indexFile + `. Both are written whole or not at all. With -rows, -data or -prompts a folder
			gets shards, each whole or not at all, with the row, position, document and id of every token,
			and ` + corpusFile + `, which says what they hold; the same call again goes on where it was
			interrupted. Scores of keys that a query does not see are -inf.`,
	}
}

// indexFile is, in a folder of .npy files, the JSON that names the activations' axes and the
// prompt's tokens.
const indexFile = "activations.json"

// Exported lists the activations of a run that were written to files or, without files, only
// listed.
type Exported struct {
	Activations []ExportedActivation `json:"activations"`
	Files       []string             `json:"files,omitempty"` // a file, a folder
}

// ExportedActivation says what an exported array is.
type ExportedActivation struct {
	Name  string   `json:"name"`
	Axes  []string `json:"axes"` // "token" first, unless it is the same for all tokens
	Shape []int    `json:"shape"`
	RMS   float64  `json:"-"` // the root of its mean square, which need not be finite
}

// Run writes named activations of a run on a prompt, as float32, to files that numpy and
// PyTorch read: a safetensors file whose metadata has "axes" and "tokens" as JSON, and a folder
// of .npy files. Each is written whole or not at all. Without files it lists the activations.
func (o Export) Run(ctx context.Context, m *Model) (*Report, error) {
	rows, note, err := o.Texts.Read(ctx, m, o.BOS)
	if err != nil {
		return nil, err
	}
	if rows != nil {
		if o.Prompt.given() {
			return nil, bothGiven()
		}
		c, err := o.shards(ctx, m, rows)
		if err != nil {
			return nil, err
		}
		r := m.NewReport("Corpus of activations", nil)
		r.About += note
		r.Add("corpus", "Corpus of activations", "What the shards hold.", c)
		return r, nil
	}
	if o.NPY != "" {
		if _, err := os.Lstat(o.NPY); !errors.Is(err, os.ErrNotExist) {
			return nil, check.Value("npy", "a folder that is not there yet", o.NPY)
		}
	}
	ids, err := o.Prompt.Read(m, 1)
	if err != nil {
		return nil, err
	}
	run, err := m.run(ids, o.names(m))
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := m.NewReport("Activations", ids)
	e, arrays := exported(run)
	if o.Safetensors != "" {
		if err := e.writeSafetensors(o.Safetensors, arrays, r.Tokens); err != nil {
			return nil, err
		}
	}
	if o.NPY != "" {
		if err := e.writeNPY(o.NPY, arrays, r.Tokens); err != nil {
			return nil, err
		}
	}
	r.Add("activations", "Activations", "What a run on the prompt computed under these names, with the names of the axes.", e)
	return r, nil
}

// names returns the names of the activations, by default all.
func (o Export) names(m *Model) []string {
	if len(o.Names) > 0 {
		return o.Names
	}
	all, _ := cache.Names(m.Store, m.Spec) // a run on them meets the same error
	return all
}

// exported returns the description of each activation that a run has kept, and its values as
// float32.
func exported(run *cache.Cache) (*Exported, []checkpoint.Tensor) {
	e := &Exported{}
	var arrays []checkpoint.Tensor
	for _, name := range run.Names() {
		a, _ := run.Get(name) // one of its own
		square := 0.0
		for _, v := range a.Values {
			if !math.IsInf(v, -1) { // a score of a key that the query does not see
				square += v * v / float64(len(a.Values))
			}
		}
		e.Activations = append(e.Activations, ExportedActivation{a.Name, a.Axes, a.Shape, math.Sqrt(square)})
		arrays = append(arrays, checkpoint.Tensor{Name: a.Name, Shape: a.Shape, Data: float32s(a.Values)})
	}
	return e, arrays
}

// writeSafetensors writes all arrays to one file.
func (e *Exported) writeSafetensors(path string, arrays []checkpoint.Tensor, tokens []Token) error {
	axes := map[string][]string{}
	for _, a := range e.Activations {
		axes[a.Name] = a.Axes
	}
	metadata := map[string]string{}
	for key, of := range map[string]any{"axes": axes, "tokens": tokens} {
		text, _ := json.Marshal(of) // of texts and integers
		metadata[key] = string(text)
	}
	e.Files = append(e.Files, path)
	return checkpoint.WriteTensors(path, arrays, metadata)
}

// writeNPY writes a folder with a file for each array and an index.
func (e *Exported) writeNPY(dir string, arrays []checkpoint.Tensor, tokens []Token) error {
	index, _ := json.MarshalIndent(struct { // of texts and integers
		Tokens      []Token              `json:"tokens"`
		Activations []ExportedActivation `json:"activations"`
	}{tokens, e.Activations}, "", "\t")
	files := []checkpoint.FolderFile{{Name: indexFile, Write: func(w io.Writer) error {
		_, err := w.Write(append(index, '\n'))
		return err
	}}}
	for _, a := range arrays {
		files = append(files, checkpoint.FolderFile{Name: a.Name + ".npy", Write: func(w io.Writer) error { return encodeNPY(w, a) }})
	}
	e.Files = append(e.Files, dir)
	return checkpoint.WriteFolder(dir, false, files...)
}

// Table lists the activations.
func (e *Exported) Table() figure.Table {
	t := figure.NewTable("activations", "lllr", "name", "axes", "shape", "root mean square")
	if len(e.Files) > 0 {
		t.Title += " written to " + strings.Join(e.Files, " and ")
	}
	for _, a := range e.Activations {
		t.Row(a.Name, strings.Join(a.Axes, ", "), a.shape(), a.RMS)
	}
	return t
}

// shape writes out the shape: "24 x 3 x 8".
func (a ExportedActivation) shape() string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(a.Shape), "[]"), " ", " x ")
}

// Figures are the activations' sizes.
func (e *Exported) Figures() []figure.Figure {
	b := figure.Bars{Title: "Size of each activation", YLabel: "root mean square"}
	for _, a := range e.Activations {
		b.Add(a.Name, a.RMS)
	}
	return []figure.Figure{b}
}

// encodeNPY writes an array of float32 or int32 in numpy's format, version 1.0: a magic string, the
// length of a header, the header (a Python literal, padded so that the data begin at a multiple of
// 64 bytes), the data in little-endian order, the last axis fastest. See
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
func encodeNPY(w io.Writer, a checkpoint.Tensor) error {
	shape := ""
	for _, n := range a.Shape {
		shape += fmt.Sprintf("%d, ", n)
	}
	const lead, multiple = 10, 64 // magic, version and length; of the data's offset
	kind := "<f4"
	if _, whole := a.Data.([]int32); whole {
		kind = "<i4"
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, strings.TrimSuffix(shape, " "))
	header += strings.Repeat(" ", multiple-1-(lead+len(header))%multiple) + "\n"
	start := append([]byte("\x93NUMPY\x01\x00"), 0, 0)
	binary.LittleEndian.PutUint16(start[lead-2:], uint16(len(header)))
	if _, err := w.Write(append(start, header...)); err != nil {
		return errors.WithStack(err)
	}
	return errors.WithStack(binary.Write(w, binary.LittleEndian, a.Data))
}
