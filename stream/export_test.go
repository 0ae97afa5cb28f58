package stream

import "github.com/residua-go/residua/graph"

// What tests of single streams look at.
type (
	Matrix        = matrix
	Rows          = rows
	GatedResidual = gatedResidual
	VWN           = vwn
	Highway       = highway
	Hieragg       = hieragg
	DWLSTM        = dwlstm
)

// And how they are made.
func NewMatrix(b *graph.Builder, c MatrixConfig) *Matrix               { return c.New(b).(*matrix) }
func NewDynamicMatrix(b *graph.Builder, c DynamicMatrixConfig) *Matrix { return c.New(b).(*matrix) }
func NewHyper(b *graph.Builder, c HyperConfig) *Rows                   { return c.New(b).(*rows) }
func NewHighway(b *graph.Builder, c HighwayConfig) *Highway            { return c.New(b).(*highway) }
func NewHieragg(b *graph.Builder, c HieraggConfig) *Hieragg            { return c.New(b).(*hieragg) }
func NewDWLSTM(b *graph.Builder, c DWLSTMConfig) *DWLSTM               { return c.New(b).(*dwlstm) }
