package train

import (
	"os"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/models"
)

// serve runs train in a process that clitest.Program made.
func serve() {
	clitest.Serve(func(_ string, args []string) int {
		return commandline.Main(Command(models.Standard()), args, os.Stdout, os.Stderr)
	})
}
