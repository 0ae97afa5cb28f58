package theory

import (
	"github.com/residua-go/residua/figure"
)

// ResourceTable is the paper's Table 7 for models that one names: parameters and forward FLOPs a
// token of each part, and their totals as printed, as other tables imply, corrected and as our
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
const resourceTableNotes = "paper's count: look-ups are products with one-hot vectors, attention sees all N tokens; no norm gains, no positions of the transformer. exact: look-ups cost nothing, attention sees the (N+1)/2 tokens that are there on average; it is what models.Spec.Cost counts.\n\n" +
	"The printed totals count the vocabulary's parameters once, though embedding and unembedding are two tables; give the RMT's keys as 2 R Dk (3L+1) parameters where the list sums to 3 R Dk (2L+1), and 6 R Dk Dv (1+L) FLOPs where (1+2L) is meant; and print 4 V for the transformer's vocabulary where 4 V D is meant. The RMT's, 4 V R Dv, is printed right.\n\n" +
	"implied by other tables: the FLOPs of Tables 3 and 4 follow from the printed totals with 4 V R for the RMT's vocabulary, with its positions and without the softmax; the sizes of Tables 8 and 9 from two vocabulary tables."

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
