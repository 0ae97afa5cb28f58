package graph

// Common returns the value of type K that the ops of b's graph share under a key. The first call
// makes it.
func Common[K any](b *Builder, key string) *K {
	if b.common == nil {
		b.common = map[string]any{}
	}
	k, ok := b.common[key].(*K)
	if !ok {
		k = new(K)
		b.common[key] = k
	}
	return k
}
