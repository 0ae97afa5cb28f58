// Newstream is a program in a separate module that adds to Residua a residual stream with a new op,
// an attention, a feed-forward, an optimizer, a schedule, a source of texts, a kind of experiment,
// a file format, an analysis and a command, and trains and examines models made of them by
// Residua's commands:
//
//	cd examples/newstream
//	export GOWORK=off            # this folder is no part of the repository's workspace
//	go run . train -config layerscale.yaml
//	go run . train -config lion.yaml
//	go run . train -config sums.yaml
//	go run . train -config headgain.yaml
//	go run . eval -checkpoint runs/layerscale
//	go run . generate -checkpoint runs/layerscale -prompt "func "
//	go run . convert -checkpoint runs/layerscale -format layerscale -out layerscale-folder
//	go run . generate -checkpoint layerscale-folder -prompt "func "
//	go run . models -residuals
//	go run . bench zoo -shapes byte -models quickstart-layerscale
//	go run . experiment streams.yaml
//	go run . experiment spread.yaml
//	go run . analyze attribute -checkpoint runs/layerscale
//	go run . analyze norms -checkpoint runs/layerscale
//	go run . gains runs/layerscale
//	go run . serve -checkpoint runs/layerscale    # the page has norms, too
//
// gain.go is the op, design.go the stream's settings in a run config, stream.go the stream, and
// frozen.go lets analyses decompose a run of it. headgain.go is the attention, bilinear.go the
// feed-forward, lion.go the optimizer, spread.go the kind of experiment, format.go the file format,
// norms.go the analysis, gains.go the command, sums.go the source, inversesqrt.go the schedule. In
// newstream_test.go Residua's conformance suite tests the stream.
package main

import (
	"fmt"
	"os"

	"github.com/residua-go/residua/cli"
	"github.com/residua-go/residua/models"
)

func main() {
	zoo, err := newZoo()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(cli.Main(zoo, os.Args[1:], os.Stdout, os.Stderr))
}

// newZoo returns Residua's designs and presets together with ours: our stream and a preset of it,
// which is the byte-level transformer quickstart-transformer on our stream and is compared with
// that preset; and our attention, feed-forward, optimizer, kind of experiment, format, analysis,
// command, source and schedule.
func newZoo() (models.Zoo, error) {
	zoo := models.Standard()
	plain, err := zoo.Preset("quickstart-transformer")
	if err != nil {
		return zoo, err
	}
	return zoo.With(LayerScale{}, models.Preset{
		Name: "quickstart-layerscale", Baseline: plain.Name, Config: plain.Config.OnStream(LayerScale{}),
	}).WithKinds(HeadGain{}, Bilinear{}, Lion{Beta1: 0.9, Beta2: 0.99}, Spread{Unit: "nats"}, Folder{}, Norms{}, Gains{},
		Sums{Documents: 20000, Lines: 8, Most: 99}, InverseSqrt{}), nil
}
