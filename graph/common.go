package graph

// Common returns a value of type K that ops of b's graph have in common, by a key. The first call
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
