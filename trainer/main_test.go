//go:build !cuda

package trainer_test

import (
	"testing"

	"github.com/residua-go/residua/internal/longtest"
)

func TestMain(m *testing.M) { longtest.Main(m) }
