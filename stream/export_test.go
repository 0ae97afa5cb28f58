package stream

// What tests of single streams look at.
type (
	Matrix        = matrix
	MatrixState   = matrixState
	Hyper         = hyper
	MHC           = mhc
	MHCLite       = mhcLite
	KromHC        = kromHC
	GatedResidual = gatedResidual
	VWN           = vwn
	Highway       = highway
	Hieragg       = hieragg
	HieraggState  = hieraggState
	DWLSTM        = dwlstm
	DWLSTMState   = dwlstmState
)

// And how they are made.
var (
	NewMatrix  = newMatrix
	NewHyper   = newHyper
	NewHighway = newHighway
	NewHieragg = newHieragg
	NewDWLSTM  = newDWLSTM
)
