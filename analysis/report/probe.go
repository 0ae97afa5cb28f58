package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/corpus"
	"github.com/residua-go/residua/analysis/probe"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// Probe fits linear probes to activations. Its fields say to which, of what, and on what text.
type Probe struct {
	Texts           // by default 64 rows of validation text
	Names  []string `yaml:"names" help:"probe the activations of name or glob <G>; may be repeated; without, the stream after each block"`
	Offset int      `yaml:"offset" min:"-1000000" max:"1000000" help:"read the class of the token <N> after the one that is probed; below 0: before it"`
	// Labels are classes of tokens instead of those that their texts have; as a flag a file.
	Labels Labels `yaml:"labels" help:"read the labels of <FILE>, lines ROW,POSITION,LABEL as export numbers tokens; tokens without a line are left out"`
	probe.Options
}

// Labels are classes of tokens: in JSON an array, as a flag the name of a file, on each line ROW,
// POSITION and LABEL with commas in between or, of a .jsonl, an object.
type Labels []Label

// Label is the class of one token.
type Label struct {
	Row      int    `yaml:"row" json:"row"`
	Position int    `yaml:"position" json:"position"`
	Label    string `yaml:"label" json:"label"`
}

// UnmarshalText reads the file with the given name.
func (l *Labels) UnmarshalText(name []byte) error {
	text, err := readList(string(name))
	if err == nil {
		*l, err = data.EachPrompt(string(name), "ROW,POSITION,LABEL", text, readLabel)
	}
	return err
}

func readLabel(line string, isJSON bool) (l Label, err error) {
	if isJSON {
		err = json.Unmarshal([]byte(line), &l)
	} else if _, err = fmt.Sscanf(line, "%d,%d,", &l.Row, &l.Position); err == nil {
		l.Label = strings.SplitN(line, ",", 3)[2]
	}
	if err != nil || l.Label == "" {
		err = errors.Errorf("want ROW,POSITION,LABEL, got %q", line)
	}
	return l, err
}

// Name is probe.
func (Probe) Name() string { return "probe" }

// Card describes Probe.
func (Probe) Card() Card {
	return Card{
		Summary: "what a linear probe reads from an activation, next to chance and to the embedding",
		Example: `
			analyze probe -checkpoint runs/quickstart
			analyze probe -checkpoint runs/quickstart -offset 1 -rows 128 -names blocks.2.feedforward.stream -out /tmp/probe`,
		Notes: `
			A probe finds the class of a token's text (letter, digit, space, end of a line, other), or its
			label in a file, from an activation: on documents that it was not fitted on, with the penalty
			chosen without them. Chance is the same probe for labels shuffled within documents. Of an
			activation with further axes, each key, row or head is also probed alone.`,
	}
}

// probed are the results of probes.
type probed struct {
	title   string
	Classes []string `json:"classes"`
	Tokens  int      `json:"tokens"`
	Probes  []oneOf  `json:"probes"`
}

// oneOf is a probe of an activation, or of one entry of its first axis.
type oneOf struct {
	Name    string `json:"name"`
	Entries int    `json:"entries"`
	*probe.Score
}

// probeRows is the default number of rows.
const probeRows = 64

// Run reports what probes read.
func (o Probe) Run(ctx context.Context, m *Model) (*Report, error) {
	rows, note, err := o.Texts.orRows(ctx, m, probeRows)
	if err != nil {
		return nil, err
	}
	names := o.Names
	if len(names) == 0 {
		names = defaultNames(m)
	}
	r, err := corpus.Open(m.Store, m.Spec, rows, append([]string{"embedding.out"}, names...)...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	d, ofRows, classes, values, err := o.read(ctx, m, r, rows)
	if err != nil {
		return nil, err
	}
	report := m.NewReport("Probes", nil)
	if report.About += note; probe.Documents(d) < probe.LeastDocuments {
		report.About += "; the text has too few documents: its rows are taken as documents"
		d.Documents = ofRows
	}
	whole := &probed{title: "accuracy of probes", Classes: classes, Tokens: len(d.Labels)}
	var parts []*probed
	for k, a := range r.Tokens {
		entries := len(values[k]) / len(d.Labels)
		d.X = mat.NewDense(len(d.Labels), entries, values[k])
		s, err := probe.Measure(ctx, d, o.Options)
		if err != nil {
			return nil, err
		}
		whole.Probes = append(whole.Probes, oneOf{a.Name, entries, s})
		if len(a.Axes) < 2 {
			continue
		}
		part := &probed{title: fmt.Sprintf("accuracy of probes of each %s of %s", a.Axes[0], a.Name), Classes: classes, Tokens: whole.Tokens}
		for i := range a.Shape[0] {
			n := entries / a.Shape[0]
			d.X = mat.DenseCopyOf(mat.NewDense(len(d.Labels), entries, values[k]).Slice(0, len(d.Labels), i*n, (i+1)*n))
			if s, err = probe.Measure(ctx, d, o.Options); err != nil {
				return nil, err
			}
			part.Probes = append(part.Probes, oneOf{partName(a, i), n, s})
		}
		parts = append(parts, part)
	}
	report.Add("probes", "Whole activations", "How often a linear probe finds the class of a token of a document that it was not fitted on. "+
		"embedding.out is the token itself.", whole)
	for k, part := range parts {
		report.Add(fmt.Sprintf("part-%d", k), "Part by part", "The same, by the entries of one part alone.", part)
	}
	return report, nil
}

// partName names entry i of an activation's first axis: a head as everywhere, blocks.1.attention.2.
func partName(a cache.Activation, i int) string {
	if block, _, ok := strings.Cut(a.Name, ".attention."); ok && a.Axes[0] == "head" {
		return fmt.Sprintf("%s.attention.%d", block, i)
	}
	return fmt.Sprintf("%s %d", a.Axes[0], i)
}

// defaultNames returns a glob for the stream after each block: the last activation of a block whose
// name ends in ".stream".
func defaultNames(m *Model) []string {
	every, err := cache.Names(m.Store, m.Spec)
	if err != nil {
		return []string{"features"} // Open reports the error
	}
	name := "features"
	block := fmt.Sprintf("blocks.%d.", m.Spec.Depth()-1)
	for _, each := range every {
		if part, ok := strings.CutPrefix(each, block); ok && strings.HasSuffix(each, ".stream") {
			name = "blocks.*." + part
		}
	}
	return []string{name}
}

// read runs the model and returns the tokens that have a class, with their rows, the classes' names
// and the activations [tokens, entries].
func (o Probe) read(ctx context.Context, m *Model, r *corpus.Reader, rows []corpus.Row) (d probe.Data, ofRows []int32, classes []string, values [][]float64,
	err error) {
	values = make([][]float64, len(r.Tokens))
	for i, row := range rows {
		all, err := r.Row(i)
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return d, nil, nil, nil, err
		}
		for t := range row.IDs {
			class := o.class(m, i, t+o.Offset, row.IDs)
			if class == "" {
				continue
			}
			if !slices.Contains(classes, class) {
				classes = append(classes, class)
			}
			d.Labels, d.Documents = append(d.Labels, slices.Index(classes, class)), append(d.Documents, row.Documents[t])
			ofRows = append(ofRows, int32(i))
			for k, a := range all {
				n := len(a.Values) / len(row.IDs)
				values[k] = append(values[k], a.Values[t*n:][:n]...)
			}
		}
		m.done(i+1, len(rows))
	}
	if d.Classes = len(classes); d.Classes < 2 {
		return d, nil, nil, nil, check.Value("labels", "tokens of at least 2 classes", d.Classes)
	}
	return d, ofRows, classes, values, nil
}

// class returns the class of token t of a row; "": it has none.
func (o Probe) class(m *Model, row, t int, ids []int32) string {
	if at := slices.IndexFunc(o.Labels, func(l Label) bool { return l.Row == row && l.Position == t }); at >= 0 {
		return o.Labels[at].Label
	}
	if o.Labels != nil || m.Tokenizer == nil || t < 0 || t >= len(ids) {
		return ""
	}
	first, _ := utf8.DecodeRuneInString(m.Tokenizer.Decode(ids[t : t+1]))
	switch {
	case first == '\n':
		return "end of a line"
	case unicode.IsSpace(first):
		return "space"
	case unicode.IsDigit(first):
		return "digit"
	case unicode.IsLetter(first):
		return "letter"
	}
	return "other"
}

// Table lists the probes.
func (p *probed) Table() figure.Table {
	t := figure.NewTable(fmt.Sprintf("%s, of %d classes, over %d tokens", p.title, len(p.Classes), p.Tokens), "lrrlrl", "what", "entries", "accuracy",
		"95% interval", "by chance", "lowest to highest")
	t.Note = "Means over documents of the share of tokens whose class is found; intervals by the bootstrap over documents.\nby chance: for labels " +
		"shuffled within documents, 20 times. Classes: " + strings.Join(p.Classes, ", ") + "."
	for _, x := range p.Probes {
		between := func(i probe.Interval) string { return fmt.Sprintf("%.3f to %.3f", i.Low, i.High) }
		t.Row(x.Name, x.Entries, x.Accuracy.Mean, between(x.Accuracy), x.Chance.Mean, between(x.Chance))
	}
	return t
}

// Figures are bars of the accuracies, with their intervals, next to chance.
func (p *probed) Figures() []figure.Figure {
	b := figure.Bars{Title: p.title, YLabel: "share of tokens"}
	for _, x := range p.Probes {
		b.Add(x.Name, x.Accuracy.Mean, (x.Accuracy.High-x.Accuracy.Low)/2)
		b.Add(x.Name+", chance", x.Chance.Mean, (x.Chance.High-x.Chance.Low)/2)
	}
	return []figure.Figure{b}
}
