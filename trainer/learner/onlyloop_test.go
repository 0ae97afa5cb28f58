package learner_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyLearnersTrain: outside tests, only Learners make optimizers; the exceptions are sparse
// autoencoders and the tuned lens, which are no models.
func TestOnlyLearnersTrain(t *testing.T) {
	var makers []string
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("optim.New(")) {
			makers = append(makers, filepath.ToSlash(path))
		}
		return err
	}))
	require.Equal(t, []string{"../../analysis/sae/train.go", "../../analysis/tunedlens_train.go", "../../trainer/learner/learner.go"}, makers)
}
