package analysis

import (
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/spelling"
)

// inRange refuses an index that is not below n.
func inRange(what string, index, n int) error {
	if index < 0 || index >= n {
		return errors.Errorf("analysis: %s: want 0 to %d, got %d", what, n-1, index)
	}
	return nil
}

// unknownName says that nothing of a kind has that name, and which name is near.
func unknownName(what, name string, known []string) error {
	if near := spelling.Nearest(name, known); near != "" {
		return errors.Errorf("analysis: no %s %q; did you mean %s?", what, name, near)
	}
	return errors.Errorf("analysis: no %s %q; want one of %s", what, name, strings.Join(known, ", "))
}
