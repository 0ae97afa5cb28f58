package cuda

// Precision is how matrix products and activations are kept on the device.
type Precision string

const (
	// PrecisionFP32 multiplies in 32-bit floats.
	PrecisionFP32 Precision = "fp32"
	// PrecisionTF32 keeps 32-bit floats and multiplies them on tensor cores, inputs rounded to 10
	// bits of mantissa.
	PrecisionTF32 Precision = "tf32"
	// PrecisionBF16 keeps activations in bfloat16 and multiplies those on tensor cores. Parameters,
	// their gradients, statistics, softmax, the loss and every sum are 32-bit floats.
	PrecisionBF16 Precision = "bf16"
)

// Precisions lists them.
func Precisions() []Precision { return []Precision{PrecisionFP32, PrecisionTF32, PrecisionBF16} }

// Activation is the type of activations.
func (p Precision) Activation() Type {
	if p == PrecisionBF16 {
		return BF16
	}
	return F32
}
