package kernel

// WherePositive computes y = x where gate > 0, else 0. Out: y, which may be either input. In: x,
// gate.
func WherePositive[T Float](x Elements[T]) {
	y, values := x.Out[0], x.In[0]
	for i, gate := range x.In[1] {
		if gate > 0 {
			y[i] = values[i]
		} else {
			y[i] = 0
		}
	}
}

// WherePositiveFormula describes WherePositive.
func WherePositiveFormula() *Formula {
	f := whereFormula("WherePositive", "y", "x")
	f.Gradients = []func() *Formula{func() *Formula { return whereFormula("WherePositiveGradient", "dx", "dy") }}
	return f
}

func whereFormula(name, y, x string) *Formula {
	return &Formula{Name: name, Results: []FormulaArray{{Name: y}}, Inputs: []FormulaArray{{Name: x}, {Name: "gate"}},
		Single: WherePositive[float32], Double: WherePositive[float64]}
}
