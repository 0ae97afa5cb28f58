package generate

import (
	"os"
	"testing"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
)

func TestMain(m *testing.M) {
	clitest.Serve(func(_ string, args []string) int {
		return commandline.Main(Command(models.Standard(), os.Stdin), args, os.Stdout, os.Stderr)
	})
	longtest.Main(m)
}
