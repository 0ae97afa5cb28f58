package generate

// Accepted is how many requests are under way or wait.
func (g *Generator) Accepted() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.accepted
}
