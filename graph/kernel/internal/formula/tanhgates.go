package formula

// TanhGates computes the input-dependent mixing coefficients of hyper-connections (Zhu et al. 2024,
// arXiv 2409.19606, eq. 10 to 13): c = fixed + scale tanh(tau z).
//
//residua:functions
func TanhGates(z, scale, fixed Single, tau Number) (c Single) {
	return fixed + scale*Tanh(tau*z)
}

// TanhGatesGradient computes dz = dc scale tau tanh'(tau z), and adds dc tanh(tau z) to dscale.
//
//residua:functions
func TanhGatesGradient(dc, z, scale Single, tau Number) (dz Single, dscale Sum) {
	tanh, below, above := TanhParts(tau * z)
	return dc * scale * tau * below * above, float64(dc * tanh)
}
