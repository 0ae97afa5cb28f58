package graph

import "github.com/residua-go/residua/graph/kernel"

// Saved is what an op keeps for its gradient without a node, in host memory or in a device's.
type Saved struct {
	host   any
	Device DeviceMemory
}

// SavedOf returns the n saved numbers of an op that runs on the CPU.
func SavedOf[T kernel.Float](s *Saved, n int) []T {
	saved, _ := s.host.([]T)
	if len(saved) != n {
		saved = make([]T, n)
		s.host = saved
	}
	return saved
}

// SavedPair returns two saved slices of n numbers each.
func SavedPair[T kernel.Float](s *Saved, n int) (first, second []T) {
	both := SavedOf[T](s, 2*n)
	return both[:n:n], both[n:]
}
