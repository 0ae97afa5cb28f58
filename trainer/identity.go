package trainer

import (
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
)

// checkOwn refuses a checkpoint that belongs to another run than the folder, since the
// metrics, best.json and checkpoints of the two would mix. own tells whether the checkpoint
// lies in the run's folder, not in a copy of it. A checkpoint without an identity, as early
// versions wrote, belongs to the folder that holds it.
func (t *Trainer) checkOwn(dir string) (own bool, err error) {
	const hint = "start a run of its own from it with -fork, into a new folder with -out"
	s, err := checkpoint.ReadState(dir)
	if err != nil {
		return false, err
	}
	out := t.run.Out
	own = sameFile(filepath.Join(dir, "..", ".."), out)
	here, err := folderIdentity(out)
	if err != nil {
		return own, err
	}
	switch {
	case own && (here == "" || s.Run == "" || here == s.Run), here != "" && here == s.Run:
		return own, nil
	case here == "" && !own:
		return own, cannotResume("out", "%s does not belong to the run in %s: resume it in its own folder with -out, or %s", dir, out, hint)
	}
	return own, cannotResume("out", "%s is of another run than the one in %s (identity %.8s, there %.8s): %s", dir, out, s.Run, here, hint)
}

// folderIdentity returns the identity of the run in a folder, "" if it has none.
func folderIdentity(out string) (string, error) {
	dir, _, err := checkpoint.Latest(out)
	if errors.Is(err, checkpoint.ErrNone) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	s, err := checkpoint.ReadState(dir)
	return s.Run, err
}

// sameFile tells whether two paths lead to one file or folder.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}
