package cuda

// module is a compiled .cu file: its name without the ending, and its kernels.
type module struct {
	name    string
	entries []entry
}

// entry is a kernel as its PTX declares it.
type entry struct {
	name    string
	params  []int // the size of each parameter in bytes
	threads int   // largest number of threads of a block, for which the driver's compiler assigns registers
	shared  int   // bytes of static shared memory, in addition to what a launch gives it
}
