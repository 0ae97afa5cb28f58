package formula

// LSTMCell computes one step of a long short-term memory cell (Hochreiter & Schmidhuber 1997; the
// forget gate: Gers et al. 2000), without tanh on the candidate or the output:
//
//	cell = sigmoid(forgetGate) state + sigmoid(inputGate) candidate
//	hidden = sigmoid(outputGate) cell
func LSTMCell(state State, inputGate, forgetGate, candidate, outputGate float64) (cell State, hidden float64) {
	kept := Round(state / (1 + Decay(forgetGate)))
	cell = Round(kept + candidate/(1+Decay(inputGate)))
	return cell, cell / (1 + Decay(outputGate))
}

// LSTMCellGradient differentiates cell.
func LSTMCellGradient(dcell, state State, inputGate, forgetGate, candidate float64) (dstate State, dinputGate, dforgetGate, dcandidate float64) {
	decay := Decay(forgetGate)
	open := 1 / (1 + decay)
	dstate = dcell * open
	dforgetGate = state * (dstate * (decay * open))
	shut := Decay(inputGate)
	write := 1 / (1 + shut)
	dcandidate = dcell * write
	return dstate, candidate * (dcandidate * (shut * write)), dforgetGate, dcandidate
}

// LSTMCellHiddenGradient differentiates hidden.
func LSTMCellHiddenGradient(dhidden float64, cell State, outputGate float64, addend Addend) (dcell State, doutputGate float64) {
	decay := Decay(outputGate)
	open := 1 / (1 + decay)
	through := dhidden * open
	return Round(through) + addend, cell * (through * (decay * open))
}
