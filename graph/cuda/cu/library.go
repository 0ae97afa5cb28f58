package cu

import "gorgonia.org/cu/internal/dynlib"

// Search, Symbol and Func open a further library of NVIDIA's and call its functions, as package
// nccl of Residua does.
type (
	Search = dynlib.Search
	Symbol = dynlib.Symbol
	Func   = dynlib.Func
)
