package stream

// What tests of single streams look at.
type (
	Matrix        = matrix
	MatrixState   = matrixState
	DynamicMatrix = dynamicMatrix
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
	NewMatrix        = newMatrix
	NewDynamicMatrix = newDynamicMatrix
	NewHyper         = newHyper
	NewHighway       = newHighway
	NewHieragg       = newHieragg
	NewDWLSTM        = newDWLSTM
)
