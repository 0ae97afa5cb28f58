package kernel

// dots is a product C (+)= A B^T of few long rows, A [m, k] and B [n, k], both dense: every row of
// A times every row of B. Unlike in block, neither operand is transposed or copied.
type dots[T Float] struct {
	path path
	m, n int // both at least 1
	k    int // at least 1
	cs   int // distance between rows of C in elements
	add  bool
}

// Rows and columns of the largest tile of dots, for which the micro-kernels of internal/asmgen have
// enough registers.
const (
	dotRowsAVX512 = 4
	dotRowsAVX2   = 2
	dotRowsNEON   = 4
	dotCols       = 4
)

// dotRows returns the rows of the largest tile on a path.
func dotRows(p path) int {
	switch p {
	case avx512:
		return dotRowsAVX512
	case neon:
		return dotRowsNEON
	}
	return dotRowsAVX2
}

// run computes c from a and b. It panics if a slice is too short, as an index out of range does.
func (x *dots[T]) run(c, a, b []T) {
	a, b, c = a[:x.m*x.k], b[:x.n*x.k], c[:(x.m-1)*x.cs+x.n]
	if x.path == portable {
		x.runPortable(c, a, b)
		return
	}
	high := dotRows(x.path)
	t := tile[T]{k: x.k, as: x.k, bs: x.k, cs: x.cs}
	if x.add {
		t.beta = 1
	}
	for i := 0; i < x.m; i += high {
		t.a = &a[i*x.k]
		for j := 0; j < x.n; j += dotCols {
			t.b, t.c = &b[j*x.k], &c[i*x.cs+j]
			t.runDots(x.path, min(high, x.m-i), min(dotCols, x.n-j))
		}
	}
}

// runPortable does what run does, by plain loops.
func (x *dots[T]) runPortable(c, a, b []T) {
	for i := range x.m {
		for j := range x.n {
			sum := rowDot(portable, a[i*x.k:(i+1)*x.k], b[j*x.k:(j+1)*x.k])
			if x.add {
				sum += c[i*x.cs+j]
			}
			c[i*x.cs+j] = sum
		}
	}
}
