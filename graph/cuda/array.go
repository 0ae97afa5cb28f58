package cuda

import "strconv"

// Type is the element type of a device array.
type Type int

// The element types.
const (
	F32  Type = iota // 32-bit float
	BF16             // bfloat16: the upper half of an F32
	I32              // 32-bit integer
	F64              // 64-bit float
)

// Size returns the bytes of an element.
func (t Type) Size() int { return [...]int{4, 2, 4, 8}[t] }

// String returns the type's name as kernels' names end with it: f32, bf16, i32 or f64.
func (t Type) String() string { return [...]string{"f32", "bf16", "i32", "f64"}[t] }

// Array is N elements in device memory. The zero Array means no array; a kernel gets a null pointer
// for it.
type Array struct {
	Ptr  uint64
	Type Type
	N    int
}

// Bytes returns the array's size.
func (a Array) Bytes() int { return a.N * a.Type.Size() }

// None tells whether a is the zero Array.
func (a Array) None() bool { return a.Ptr == 0 }

// Suffix returns the end of the name of a kernel for arrays of this type, as in "_f32".
func (a Array) Suffix() string { return "_" + a.Type.String() }

// Slice returns n elements, beginning with element number from.
func (a Array) Slice(from, n int) Array {
	return Array{a.Ptr + uint64(from*a.Type.Size()), a.Type, n}
}

func (a Array) appendTo(all []arg) []arg {
	bytes := a.Bytes()
	if a.None() {
		bytes = 0
	}
	return append(all, arg{bits: a.Ptr, size: 8, touched: bytes})
}

// Touching passes the array and says how many bytes a kernel reads and writes through its address,
// if that is not the array's size: because it reads only some rows of a table, or follows pointers
// to other arrays.
func (a Array) Touching(bytes int) Arg { return arg{bits: a.Ptr, size: 8, touched: bytes} }

// conversion returns the name of the kernel that copies src into a dst of another type.
func conversion(dst, src Array) string { return "cast" + src.Suffix() + dst.Suffix() }

func (a Array) String() string {
	return a.Type.String() + "[" + strconv.Itoa(a.N) + "]@0x" + strconv.FormatUint(a.Ptr, 16)
}

// Aligned16 tells whether all arrays begin at multiples of 16 bytes.
func Aligned16(arrays ...Array) bool {
	for _, a := range arrays {
		if a.Ptr%16 != 0 {
			return false
		}
	}
	return true
}
