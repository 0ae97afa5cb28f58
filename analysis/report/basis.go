package report

import "github.com/residua-go/residua/analysis"

// BasisOptions say on what, and against how many random rotations, a basis is measured.
type BasisOptions struct {
	Prompt // of any length: it is read in rows as long as those of training
	analysis.BasisOptions
}

// Basis reports whether the stream's own basis is privileged.
func Basis(m *Model, o BasisOptions) (*Report, error) {
	ids, err := o.Prompt.read(m, 2, true)
	if err != nil {
		return nil, err
	}
	r := on(m, analysis.AnalysisBasis, "Privileged basis", ids)
	r.part("basis", "Own basis and rotated ones",
		"In a stream without a privileged basis, entries are distributed along its own directions as along those of a random rotation. A kurtosis below that of rotated copies is no sign of a basis like any other: where few directions hold the outliers, rotations spread them over all (\"across\" shows it).")(analysis.MeasureBasis(m.Store, m.Spec, ids, o.BasisOptions))
	return r, r.err
}
