package cli

import (
	"fmt"
	"os"
	"slices"
	"testing"

	measure "github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/generate/chat"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
)

// TestMain is also the programs that tests start: what bench measures, a Python, a chat's
// templates, and any command.
func TestMain(m *testing.M) {
	if measure.IsChild() || slices.Equal(os.Args[1:], []string{chat.Word}) {
		os.Exit(Main(models.Standard(), os.Args[1:], os.Stdout, os.Stderr))
	}
	if parameters, fakes := fakesPython(); fakes {
		os.Exit(playPython(parameters))
	}
	clitest.Serve(func(name string, args []string) int {
		return Main(models.Standard(), append([]string{name}, args...), os.Stdout, os.Stderr)
	})
	if err := prepareDevice(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	longtest.Main(m)
}
