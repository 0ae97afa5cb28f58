package generate

// Accepted returns the number of requests that are running or waiting.
func (g *Generator) Accepted() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.accepted
}
