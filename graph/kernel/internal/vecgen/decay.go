package main

const decayConstants = exp2Constants + "sigmoidLow sigmoidHigh minusLog2e"

// decay computes e = exp(-x). All registers change.
const decay = `decay x, t, e, square, odd
	VMAXPD x, sigmoidLow@t, x
	VMINPD x, sigmoidHigh@t, x
	VMULPD minusLog2e, x, x
	exp2 x, t, e, square, odd
`

const quickDecayConstants = expSingleConstants + "gateLow gateHigh"

// quickDecay does what decay does, in float32 lanes; x is limited so that neither exp(-x) nor its
// inverse is 0 or infinite.
const quickDecay = `quickDecay x, t, e, f
	zero e
	VSUBPS x, e, x
	VMAXPS x, gateLow@t, x
	VMINPS x, gateHigh@t, x
	expSingleWithin x, t, f, e
`
