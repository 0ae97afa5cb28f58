package cli

import (
	"os"
	"testing"

	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
)

func TestMain(m *testing.M) {
	clitest.Serve(func(name string, args []string) int {
		return Main(models.Standard(), append([]string{name}, args...), os.Stdout, os.Stderr)
	})
	longtest.Main(m)
}
