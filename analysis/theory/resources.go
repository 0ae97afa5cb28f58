package theory

import (
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
)

// Part is an operation of a model in the paper's Table 7.
type Part struct {
	Name            string `json:"name"`
	Parameters      int    `json:"parameters"`
	PaperParameters int    `json:"paper_parameters"` // those that the paper counts
	FLOPs           int    `json:"flops"`            // forward, a token, as our models run
	PaperFLOPs      int    `json:"paper_flops"`      // forward, a token, as the paper counts
}

// Counts holds a total as counted in four ways, or a number computed from each of the four.
type Counts[N int | float64] struct {
	Printed N `json:"printed"` // by Table 7's totals as printed
	// Implied is the count from which the paper's other tables follow: its FLOPs agree with Tables
	// 3 and 4, its parameters with the sizes in Tables 8 and 9, which equal the corrected count.
	Implied   N `json:"implied"`
	Corrected N `json:"corrected"` // the sum of what the paper counts
	Exact     N `json:"exact"`     // the sum of what our models have, as models.Spec.Cost says
}

// growth returns the shares by which the counts of to are larger.
func (c Counts[N]) growth(to Counts[N]) Counts[float64] {
	return Counts[float64]{relative(c.Printed, to.Printed), relative(c.Implied, to.Implied), relative(c.Corrected, to.Corrected), relative(c.Exact, to.Exact)}
}

// Resources are a model's parameters and its forward FLOPs a token (paper Table 7), 2 FLOPs a
// multiply-add, without elementwise work.
//
// The paper counts the look-up of an embedding as a product with a one-hot vector, attention over
// all N tokens of a row, no norm gains, and no positions of the transformer. In our models a
// look-up costs nothing, and a token attends to the (N+1)/2 tokens up to its own, on average.
type Resources struct {
	Model      string      `json:"model"`
	Parts      []Part      `json:"parts"`
	Parameters Counts[int] `json:"parameters"`
	FLOPs      Counts[int] `json:"flops"`
}

// CountResources counts a model of the paper's two kinds: a matrix or a vector stream, dense
// feed-forwards, no biases; name is its name in the result. N is the model's seq.
func CountResources(name string, spec models.Spec) (Resources, error) {
	matrix, err := checkCountable(name, spec)
	if err != nil {
		return Resources{}, err
	}
	r := Resources{Model: name, Parts: vectorParts(spec)}
	printed := printedVector(spec)
	if matrix {
		r.Parts, printed = matrixParts(spec), printedMatrix(spec)
	}
	r.Parameters.Printed, r.FLOPs.Printed, r.FLOPs.Implied = printed.parameters, printed.flops, printed.impliedFLOPs
	for _, p := range r.Parts {
		r.Parameters.Corrected += p.PaperParameters
		r.Parameters.Exact += p.Parameters
		r.FLOPs.Corrected += p.PaperFLOPs
		r.FLOPs.Exact += p.FLOPs
	}
	r.Parameters.Implied = r.Parameters.Corrected
	if own := spec.Cost().Parameters; own != r.Parameters.Exact { // an option of the stream
		return Resources{}, check.Valuef(name+": stream", own, "%d parameters, as the paper's has", r.Parameters.Exact)
	}
	return r, nil
}

// checkCountable tells whether a model is one of the paper's RMTs. It returns an error if the model
// is neither such an RMT nor the paper's transformer.
func checkCountable(name string, spec models.Spec) (bool, error) {
	matrix, vector := paperKinds()
	switch kind := spec.Stream.Name(); {
	case kind != matrix && kind != vector:
		return false, check.Valuef(name+": stream", kind, "%s or %s, which the paper compares", matrix, vector)
	case spec.Loops > 1:
		return false, check.Value(name+": loops", "1, as in the paper", spec.Loops)
	case spec.Bias:
		return false, check.Value(name+": bias", "none, as in the paper", true)
	case spec.FeedForwardShape().Experts > 0:
		return false, check.Value(name+": experts", "0, a dense feed-forward", spec.FeedForwardShape().Experts)
	case spec.Writes != nil:
		return false, check.Value(name+": writes", "none, as in the paper", spec.Writes.Name())
	case !hasTwoMaps(spec):
		return false, check.Value(name+": feedforward", "two maps, as in the paper", spec.FeedForward.Name())
	case spec.KVHeads() != spec.HeadCount() || spec.Attention.QKNorm || spec.Attention.ValueResidual != "":
		return false, check.Value(name+": attention", "heads with keys and values of their own, not normalised or mixed, as in the paper", "other ones")
	}
	return spec.Stream.Name() == matrix, nil
}

// hasTwoMaps tells whether a feed-forward is one map in and one out.
func hasTwoMaps(spec models.Spec) bool {
	maps := float64(2 * spec.Width() * spec.FeedForwardShape().Hidden)
	return maps > 0 && spec.FeedForward.Cost(layers.FeedForwardSizes{In: spec.Width()}).Parameters == maps
}

// matrixParts returns the parts of the RMT (eq. 18 to 27): tables with R Dv entries for each token
// id, keys with R Dk entries that take 2 R Dk Dv FLOPs, two maps R Dv x FF for each block, and
// gains with Dk Dv entries for each norm.
func matrixParts(spec models.Spec) []Part {
	l, dk, dv, r, width := spec.Layers, keySize(spec), spec.HeadDim(), spec.HeadCount(), spec.Width()
	keys := func(name string, n int) Part { // n sets of R keys
		return both(name, n*r*dk, 2*n*r*dk*dv)
	}
	parts := []Part{lookup("embedding", spec.Vocab, width), keys("embedding keys", 1)}
	if spec.Attention.Positions == models.PositionsLearned {
		parts = append(parts, lookup("positions", spec.Seq, width), keys("position keys", 1))
	}
	return append(parts,
		keys("attention retrieval keys", 3*l),
		attentionPart(spec),
		keys("attention storage keys", l),
		keys("feed-forward retrieval keys", l),
		both("feed-forward maps", 2*l*width*hidden(spec), 4*l*width*hidden(spec)),
		keys("feed-forward storage keys", l),
		keys("unembedding keys", 1),
		unembedding(spec, width),
		Part{Name: "norm gains", Parameters: (2*l + 1) * dk * dv},
	)
}

// vectorParts returns the parts of the transformer; a query has W = heads x head dimension entries.
func vectorParts(spec models.Spec) []Part {
	l, d, w := spec.Layers, spec.Width(), spec.HeadCount()*spec.HeadDim()
	parts := []Part{lookup("embedding", spec.Vocab, d)}
	if spec.Attention.Positions == models.PositionsLearned {
		parts = append(parts, Part{Name: "positions", Parameters: spec.Seq * d})
	}
	return append(parts,
		both("attention retrieval maps", 3*l*d*w, 6*l*d*w),
		attentionPart(spec),
		both("attention storage maps", l*d*w, 2*l*d*w),
		both("feed-forward maps", 2*l*d*hidden(spec), 4*l*d*hidden(spec)),
		unembedding(spec, d),
		Part{Name: "norm gains", Parameters: (2*l + 1) * d},
	)
}

// both returns a part that the paper counts as we do.
func both(name string, parameters, flops int) Part {
	return Part{name, parameters, parameters, flops, flops}
}

// lookup returns a table's part; the paper counts the look-up as a product with a one-hot vector.
func lookup(name string, rows, width int) Part {
	return Part{Name: name, Parameters: rows * width, PaperParameters: rows * width, PaperFLOPs: 2 * rows * width}
}

// attentionPart returns the part of q.k and the mixing of values.
func attentionPart(spec models.Spec) Part {
	w := spec.Layers * spec.HeadCount() * spec.HeadDim()
	return Part{Name: "attention", FLOPs: 2 * w * (spec.Seq + 1), PaperFLOPs: 4 * w * spec.Seq}
}

func unembedding(spec models.Spec, width int) Part {
	part := both("unembedding", spec.Vocab*width, 2*spec.Vocab*width)
	if spec.TieEmbeddings {
		part.Parameters, part.PaperParameters = 0, 0
	}
	return part
}

// totals holds Table 7's totals for one model, and the FLOPs that Tables 3 and 4 imply instead.
type totals struct{ parameters, flops, impliedFLOPs int }

// printedVector returns Table 7's totals for the transformer as printed. They count the
// vocabulary's parameters once, and V FLOPs for it where V D must be meant; 3/4 N H is the softmax.
// Tables 3 and 4 follow from the totals with the softmax and without it.
func printedVector(spec models.Spec) totals {
	l, d, w := spec.Layers, spec.Width(), spec.HeadCount()*spec.HeadDim()
	maps := l * (4*d*w + 2*d*hidden(spec))
	flops := 4*spec.Vocab + 2*maps + 4*l*spec.Seq*w
	return totals{spec.Vocab*d + maps, flops + 3*l*spec.Seq*spec.HeadCount(), flops}
}

// printedMatrix returns Table 7's totals for the RMT as printed. They count the vocabulary's
// parameters once, and the keys as 2 R Dk (3L+1) parameters and 6 R Dk Dv (1+L) FLOPs, where
// Table 7's list sums to 3 R Dk (2L+1) and (1+2L) is meant. The vocabulary's FLOPs, 4 V R Dv,
// are right; the positions' are left out, and 3 N is the softmax. The FLOPs of Tables 3 and 4
// do not follow from these totals, but from 4 V R instead of 4 V R Dv, the positions' 2 N R Dv,
// and no softmax.
func printedMatrix(spec models.Spec) totals {
	l, dk, dv, r, width := spec.Layers, keySize(spec), spec.HeadDim(), spec.HeadCount(), spec.Width()
	maps := 2 * l * width * hidden(spec)
	parameters := spec.Vocab*width + maps + 2*r*dk*(3*l+1)
	others := 2*maps + 6*r*dk*dv*(1+l) + 4*l*spec.Seq*width
	printed := 4*spec.Vocab*width + others + 3*r*l*spec.Seq
	if spec.Attention.Positions == models.PositionsLearned {
		parameters += spec.Seq * width
		others += 2 * spec.Seq * width
	}
	return totals{parameters, printed, 4*spec.Vocab*r + others}
}

// ResourceTable is the paper's Table 7 for the named models: the parameters and forward FLOPs a
// token of each part, and four totals: as printed, as other tables imply, corrected, and as our
// models have them.
type ResourceTable struct {
	Models []Resources `json:"models"`
}

// NewResourceTable counts presets (paper Table 7).
func NewResourceTable(presets ...string) (ResourceTable, error) {
	var t ResourceTable
	for _, name := range presets {
		m, err := count(name, nil)
		if err != nil {
			return ResourceTable{}, err
		}
		t.Models = append(t.Models, m.Resources)
	}
	return t, nil
}

// Table has a row for each part and three for the totals, in millions.
func (t ResourceTable) Table() figure.Table {
	table := figure.NewTable("Table 7: parameters and forward FLOPs a token, millions", "llrrrr",
		"model", "part", "parameters, paper's count", "parameters, exact", "FLOPs, paper's count", "FLOPs, exact")
	for _, m := range t.Models {
		for _, p := range m.Parts {
			table.Row(m.Model, p.Name, fine(p.PaperParameters), fine(p.Parameters), fine(p.PaperFLOPs), fine(p.FLOPs))
		}
		table.Row(m.Model, "total", fine(m.Parameters.Corrected), fine(m.Parameters.Exact), fine(m.FLOPs.Corrected), fine(m.FLOPs.Exact))
		table.Row(m.Model, "total as printed", fine(m.Parameters.Printed), "", fine(m.FLOPs.Printed), "")
		table.Row(m.Model, "total that other tables imply", fine(m.Parameters.Implied), "", fine(m.FLOPs.Implied), "")
	}
	return table
}

// resourceTableNotes says how the two ways of counting differ.
const resourceTableNotes = "paper's count: look-ups are products with one-hot vectors, attention sees all N tokens; no norm gains, no positions of " +
	"the transformer. exact: look-ups cost nothing, attention sees the (N+1)/2 tokens that are there on average; it is what models.Spec.Cost counts.\n\n" +
	"The printed totals count the vocabulary's parameters once, though embedding and unembedding are two tables; give the RMT's keys as 2 R Dk (3L+1) " +
	"parameters where the list sums to 3 R Dk (2L+1), and 6 R Dk Dv (1+L) FLOPs where (1+2L) is meant; and print 4 V for the transformer's vocabulary " +
	"where 4 V D is meant. The RMT's, 4 V R Dv, is printed right.\n\n" +
	"implied by other tables: the FLOPs of Tables 3 and 4 follow from the printed totals with 4 V R for the RMT's vocabulary, with its positions and " +
	"without the softmax; the sizes of Tables 8 and 9 from two vocabulary tables."

// Figures shows the FLOPs by the four counts.
func (t ResourceTable) Figures() []figure.Figure {
	bars := figure.Bars{Title: "Forward FLOPs a token, by four counts", YLabel: "millions"}
	for _, m := range t.Models {
		for _, count := range []struct {
			name  string
			flops int
		}{{"as printed", m.FLOPs.Printed}, {"implied", m.FLOPs.Implied}, {"corrected", m.FLOPs.Corrected}, {"exact", m.FLOPs.Exact}} {
			bars.Add(m.Model+", "+count.name, float64(count.flops)/1e6)
		}
	}
	return []figure.Figure{bars}
}
