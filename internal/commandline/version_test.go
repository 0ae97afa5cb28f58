package commandline

import (
	"bytes"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersion: -version prints the module's version, commit and tags on one line.
func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "-version", "--version"} {
		var stdout, stderr bytes.Buffer
		c, args := Suite{Name: "prog", Program: "prog"}.Choose([]string{arg})
		require.Zero(t, Main(c, args, &stdout, &stderr), stderr.String())
		require.Regexp(t, `^prog .*, go1\.\S+ \w+/\w+\n$`, stdout.String())
	}
	info := &debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}, Settings: []debug.BuildSetting{
		{Key: "-tags", Value: "cuda"}, {Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}}
	require.Equal(t, "v0.1.0 with tags cuda of commit 0123456789ab with changes", built(info))
	require.Equal(t, "of no known version", built(nil))
}
