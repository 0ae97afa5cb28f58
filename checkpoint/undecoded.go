package checkpoint

// Undecoded stands for the elements of a type that the format has but this package does not decode,
// such as BOOL or I8: a file may have such tensors beside those that are wanted. They cannot be
// written.
type Undecoded struct{ Type DType }

// undecoded returns the bytes of one element of a type that is not decoded, 0 for any other.
func (d DType) undecoded() int {
	switch d {
	case "BOOL", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ":
		return 1
	case "I16", "U16":
		return 2
	case "U32":
		return 4
	case "U64", "C64":
		return 8
	}
	return 0
}
