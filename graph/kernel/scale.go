package kernel

// Scale computes y = factor x; a factor of 1 copies. Out: y, which may be x. In: x. Numbers:
// factor.
func Scale[T Float](x Elements[T]) { scaleTo(x.path, x.Out[0], x.In[0], T(x.Numbers[0])) }

// scaleTo computes out = factor * x.
func scaleTo[T Float](p path, out, x []T, factor T) {
	if factor == 1 {
		copy(out, x)
		return
	}
	const few = 12 // elements that take less time than a call
	if p > portable && len(out) > few {
		fastScale(p, out, x, factor)
		return
	}
	x = x[:len(out)]
	for j, v := range x {
		out[j] = factor * v
	}
}

// ScaleFormula describes Scale.
func ScaleFormula() *Formula {
	f := scaleFormula("Scale", "y", "x")
	f.Gradients = []func() *Formula{func() *Formula { return scaleFormula("ScaleGradient", "dx", "dy") }}
	return f
}

func scaleFormula(name, y, x string) *Formula {
	return &Formula{Name: name, Kernel: "scale", Results: []FormulaArray{{Name: y, Same: true}}, Inputs: []FormulaArray{{Name: x, Same: true}}, Numbers: 1,
		Single: Scale[float32], Double: Scale[float64]}
}
