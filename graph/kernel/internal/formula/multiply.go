package formula

// Multiply multiplies two tensors.
func Multiply(x, y Single) (z Single) { return x * y }

// MultiplyGradient computes dx = dz y and dy = dz x.
func MultiplyGradient(dz, x, y Single) (dx, dy Single) { return dz * y, dz * x }

// AddProducts adds x y to sum.
//
//residua:rows
func AddProducts(x, y Single) (sum Sum) { return x * y }
