package generate

import (
	"os"
	"testing"

	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/internal/cli/clitest"
	"github.com/residua-go/residua/models"
)

func TestMain(m *testing.M) {
	clitest.Serve(func(_ string, args []string) int {
		return cli.Main(Command(models.Standard(), os.Stdin), args, os.Stdout, os.Stderr)
	})
	os.Exit(m.Run())
}
