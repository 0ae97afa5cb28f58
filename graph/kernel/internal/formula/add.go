package formula

// AddTo adds x to sum.
//
//residua:rows
func AddTo(x Single) (sum Sum) { return x }

// SetSum computes x + y.
//
//residua:rows
func SetSum(x, y Single) (sum Single) { return x + y }

// AddMultiple adds factor x to sum.
//
//residua:rows
func AddMultiple(x Single, factor Factor) (sum Sum) { return factor * x }

// AddThreeMultiples computes w + (first x + second y + third z).
//
//residua:rows
func AddThreeMultiples(w, x, y, z Single, first, second, third Factor) (sum Single) {
	return w + (first*x + second*y + third*z)
}
