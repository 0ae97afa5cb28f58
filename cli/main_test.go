package cli

import (
	"os"
	"slices"
	"testing"

	"github.com/residua-go/residua/generate/chat"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
)

func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{chat.Word}) {
		os.Exit(Main(models.Standard(), os.Args[1:], os.Stdout, os.Stderr))
	}
	clitest.Serve(func(name string, args []string) int {
		return Main(models.Standard(), append([]string{name}, args...), os.Stdout, os.Stderr)
	})
	longtest.Main(m)
}
