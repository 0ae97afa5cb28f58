package analysis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// The spaces of a residual stream that can be rotated.
const (
	SpaceStream = stream.SpaceStream // the D entries of a vector stream
	SpaceKey    = stream.SpaceKey    // the Dk rows of a matrix stream
	SpaceValue  = stream.SpaceValue  // the Dv columns of a matrix stream
	SpaceBoth   = "both"             // rows and columns, each by a matrix of its own
)

// RotationOptions say how a stream is rotated.
type RotationOptions struct {
	Space string // "": stream for vector streams, both for matrix streams
	Seed  uint64
	// KeepOnes draws among the rotations that leave the vector of ones where it is, Q 1 = 1:
	// they leave every mean where it is, so that LayerNorm's centring commutes with them.
	KeepOnes bool
}

// Rotation holds the orthogonal matrices that rotate a stream; nil: no rotation.
type Rotation struct {
	Stream *mat.Dense // [D, D]: a vector stream h becomes h Q
	Key    *mat.Dense // [Dk, Dk]: a matrix stream X becomes Key^T X Value
	Value  *mat.Dense // [Dv, Dv]
}

// DrawRotation draws the rotation that Rotate, with the same options, folds into a model of this
// config.
func DrawRotation(spec models.Spec, o RotationOptions) (*Rotation, error) {
	o.KeepOnes = o.KeepOnes || keepsLayerNorm(spec)
	return drawRotation(spec, o)
}

// drawRotation draws a rotation, without filling in defaults.
func drawRotation(spec models.Spec, o RotationOptions) (*Rotation, error) {
	if err := CheckRotatable(spec); err != nil {
		return nil, err
	}
	space, err := spaceOf(spec, o.Space)
	if err != nil {
		return nil, err
	}
	r := &Rotation{}
	parts := r.parts()
	for _, s := range rotatableSpaces(spec) {
		if space != s.Name && space != SpaceBoth {
			continue
		}
		if s.Size < 1 {
			return nil, check.Value(fmt.Sprintf("space %s of the %s stream", s.Name, spec.Stream.Name()), "at least 1 dimension", s.Size)
		}
		i := slices.IndexFunc(parts, func(p rotationPart) bool { return p.space == s.Name })
		if i < 0 {
			return nil, check.Valuef("space of the "+spec.Stream.Name()+" stream", s.Name, "%s, %s or %s", SpaceStream, SpaceKey, SpaceValue)
		}
		*parts[i].matrix = numerics.RandomOrthogonal(s.Size, rand.New(rand.NewPCG(o.Seed, uint64(i))), o.KeepOnes)
	}
	return r, nil
}

// rotationPart is one space of a Rotation.
type rotationPart struct {
	space  string
	matrix **mat.Dense
}

func (r *Rotation) parts() []rotationPart {
	return []rotationPart{{SpaceStream, &r.Stream}, {SpaceKey, &r.Key}, {SpaceValue, &r.Value}}
}

// rotatableSpaces lists the spaces of a model's stream that can be rotated by its weights. Most
// streams have none. A norm after a sublayer and the gate of a value embedding take single entries
// of the stream, which no weight rotates.
func rotatableSpaces(spec models.Spec) []stream.Space {
	rotatable, ok := spec.Design().(stream.Rotatable)
	if !ok || spec.Norms == stream.NormsAfter || spec.Norms == stream.NormsBoth || spec.Attention.ValueEmbeddings > 0 {
		return nil
	}
	return rotatable.Spaces()
}

// rotatesVectors tells whether the space is the vectors of a stream as a whole.
func rotatesVectors(spec models.Spec) bool {
	spaces := rotatableSpaces(spec)
	return len(spaces) == 1 && spaces[0].Name == SpaceStream
}

// spacesOf lists the spaces of a model's stream that can be rotated, one after another, then all
// together. The activations of any stream of vectors can be rotated, even if its weights cannot.
func spacesOf(spec models.Spec) []string {
	var names []string
	for _, s := range rotatableSpaces(spec) {
		names = append(names, s.Name)
	}
	switch len(names) {
	case 0:
		return []string{SpaceStream}
	case 1:
		return names
	}
	return append(names, SpaceBoth)
}

// spaceOf returns a space by its name; "" is the last of the stream's spaces.
func spaceOf(spec models.Spec, name string) (string, error) {
	spaces := spacesOf(spec)
	if name == "" {
		return spaces[len(spaces)-1], nil
	}
	if slices.Contains(spaces, name) {
		return name, nil
	}
	return "", check.Valuef("space", strconv.Quote(name), "%s for the %s stream", strings.Join(spaces, ", "), spec.Stream.Name())
}

// Rotate rotates a model's residual stream by a random orthogonal matrix and folds that into
// a copy of the weights: where a stream has no privileged basis, the new model computes the
// same logits (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits",
// "the residual stream has no privileged basis"; made exact for trained models by Ashkboos et
// al. 2024, "SliceGPT", section 3.1). What is written is multiplied by Q, W <- W Q, what
// reads by its transpose, W <- Q^T W.
//
// Vector streams: exact for every model. The norms' gains, biases and mean, which depend on the
// basis, are first folded into the weights (foldNorms), which unties the embedding. A LayerNorm
// with biases stays a LayerNorm; its stream is rotated about the vector of ones, whatever KeepOnes
// says.
//
// Matrix streams (X [Dk, Dv] becomes Key^T X Value): exact for RMSNorm with unit gains, and
// with KeepOnes for LayerNorm with unit gains; with rotary positions the value space cannot be
// rotated. Gains of Dk x Dv entries cannot be folded into weights. MeasureRotation says how far
// each of these moves the logits.
//
// The config differs in norm and tie_embeddings at most. Errors: a stream without this
// analysis, an unknown space, a Store that lacks the model's parameters.
func Rotate(store *graph.Store, spec models.Spec, o RotationOptions) (*graph.Store, models.Spec, error) {
	r, err := DrawRotation(spec, o)
	if err != nil {
		return nil, spec, err
	}
	if rotatesVectors(spec) {
		store, spec, err = foldNorms(store, spec)
	} else {
		store, err = copyModel(store, spec)
	}
	if err != nil {
		return nil, spec, err
	}
	return store, spec, r.apply(store, store, rotatableSpaces(spec))
}
