// Package modeltest is the conformance suite of package models: what every stream must
// do, whatever it carries. A new stream is tested by one more call of Run.
//
//	modeltest.Run(t, "matrix/paper", models.Config{Stream: stream.MatrixConfig{…}, …})
//
// Models should be tiny: the suite runs each some thousand times.
package modeltest
