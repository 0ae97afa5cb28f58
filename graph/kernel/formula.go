package kernel

// Formula describes a function of package formula: how to run it, for ops that do nothing else.
type Formula struct {
	Name            string
	Kernel          string // name of its CUDA kernels, without the type of activations
	Results, Inputs []FormulaArray
	Numbers         int
	Entries         int // per CUDA thread: 4, else 8
	// Gradients has the gradient of each result, nil where there is none. Its numbers are the
	// formula's; its arrays are named after the formula's, with d before a gradient's name.
	Gradients []func() *Formula

	Single ElementFunc[float32]
	Double ElementFunc[float64]
}

// FormulaArray is an array that a formula reads or writes.
type FormulaArray struct {
	Name   string // as in package formula
	State  bool   // 32 bits on a device, whatever type activations have
	Addend bool   // an input that may be absent
	Same   bool   // of the first input's type on a device
}
