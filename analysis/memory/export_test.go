package memory

// WelchBound is what the tests of this package call.
var WelchBound = welchBound
