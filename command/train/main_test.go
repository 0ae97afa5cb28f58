package train

import (
	"os"

	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/internal/cli/clitest"
	"github.com/residua-go/residua/models"
)

// serve runs train in a process that clitest.Program made.
func serve() {
	clitest.Serve(func(_ string, args []string) int {
		return cli.Main(Command(models.Standard()), args, os.Stdout, os.Stderr)
	})
}
