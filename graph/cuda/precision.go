package cuda

// Precision says how the device multiplies matrices and stores activations.
type Precision string

const (
	// PrecisionFP32 multiplies in 32-bit floats.
	PrecisionFP32 Precision = "fp32"
	// PrecisionTF32 stores 32-bit floats and multiplies them on tensor cores, with inputs rounded
	// to 10 bits of mantissa.
	PrecisionTF32 Precision = "tf32"
	// PrecisionBF16 stores activations in bfloat16 and multiplies them on tensor cores. Parameters,
	// their gradients, statistics, softmax, the loss and every sum are 32-bit floats.
	PrecisionBF16 Precision = "bf16"
)

// Precisions lists all precisions.
func Precisions() []Precision { return []Precision{PrecisionFP32, PrecisionTF32, PrecisionBF16} }

// Activation returns the type of activations.
func (p Precision) Activation() Type {
	if p == PrecisionBF16 {
		return BF16
	}
	return F32
}
