package build

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDescribe: a description has the module's version, the commit, whether files were changed, and
// the tags.
func TestDescribe(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}, Settings: []debug.BuildSetting{
		{Key: "-tags", Value: "cuda"}, {Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}}
	require.Equal(t, "v0.1.0 with tags cuda of commit 0123456789ab with changes", describe(info))
	require.Equal(t, "of no known version", describe(nil))
	require.NotEmpty(t, Describe())
}
