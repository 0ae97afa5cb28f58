package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// Precision says how activations are stored and matrices multiplied: FP32, TF32 or BF16. On the
// CPU, TF32 means FP32, and BF16 requires that Options.DType is Float32.
type Precision = cuda.Precision

// The values of Options.Precision; TF32 is the default.
const (
	FP32 = cuda.PrecisionFP32
	TF32 = cuda.PrecisionTF32
	BF16 = cuda.PrecisionBF16
)

// Precisions lists all precisions.
func Precisions() []Precision { return cuda.Precisions() }

// PathOf names the processor's instructions with which the CPU computes in a precision: avx512,
// avx2, neon, portable, or amx (BF16 on a processor that has AMX). On machines with the same path,
// results have the same bits, except those of weights in fewer bits (Options.Weights).
func PathOf(p Precision) string { return kernel.PathOf(p == BF16) }

// A Primitive may implement these interfaces to choose the type of its output on a device.
type (
	// KeepsFloat32 is a Primitive whose output and gradient stay 32-bit floats even if activations
	// are bfloat16: coefficients, statistics, losses.
	KeepsFloat32 interface{ KeepsFloat32() bool }
	// SameType is a Primitive that passes on the entries of its first input, in the type that they
	// have on the device.
	SameType interface{ SameType() bool }
)

// storage returns the type in which the op's output is stored, on a device or, in precision BF16,
// on the CPU.
func (op *Op) storage() cuda.Type {
	switch {
	case op.out.DType == tensor.Int32:
		return cuda.I32
	case op.out.Scalar() || op.gradientOf != nil || op.keepsFloat32:
		return cuda.F32
	}
	if k, ok := op.Primitive.(KeepsFloat32); ok && k.KeepsFloat32() {
		return cuda.F32
	}
	if k, ok := op.Primitive.(SameType); ok && k.SameType() && op.producers[0] != nil {
		return op.producers[0].storage()
	}
	return op.builder.options.Precision.Activation()
}

// storageBytes returns the size of the op's output where it is stored.
func (op *Op) storageBytes() int {
	switch {
	case op.builder.OnDevice():
		return op.out.Size() * op.storage().Size()
	case op.packed:
		return op.out.Size() * cuda.BF16.Size()
	}
	return op.out.Bytes()
}

// checkPrecision sets the default and refuses unknown precisions.
func (o *Options) checkPrecision() error {
	switch o.Precision {
	case "":
		o.Precision = TF32
	case FP32, TF32:
	case BF16:
		if o.DType == tensor.Float64 {
			return errors.Errorf("graph: precision: want %s or %s with float64, got %s", FP32, TF32, BF16)
		}
	default:
		return errors.Errorf("graph: precision: want one of %v, got %q", Precisions(), o.Precision)
	}
	return nil
}
