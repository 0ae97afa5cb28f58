package pretrained

import (
	"encoding/json"
	"strconv"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// Description is what a model file says about the model: enough to rebuild the graph, to find the
// tokenizer and, if the data still exists, the validation split.
type Description struct {
	Spec models.Spec    `json:"model"`
	Data runconfig.Data `json:"data"`
	// Special are the tokens that begin and end texts of a model without a tokenizer.
	Special data.SpecialIDs `json:"special,omitzero"`
	// ReadSpecial says that the names of special tokens in a text are these tokens.
	ReadSpecial bool `json:"-"`
	// Adapted says what the file's adapters change; nil: the file holds a whole model.
	Adapted *Adapted `json:"adapted,omitempty"`
}

// Describe reads the description from the metadata of the model file at path.
func Describe(zoo models.Zoo, path string, metadata map[string]string) (Description, error) {
	var read struct {
		Model   json.RawMessage `json:"model"`
		Data    json.RawMessage `json:"data"`
		Special data.SpecialIDs `json:"special"`
		Adapted *Adapted        `json:"adapted"`
	}
	var d Description
	err := json.Unmarshal([]byte(metadata[checkpoint.MetadataConfig]), &read)
	if err == nil && read.Data != nil {
		d.Data, err = runconfig.ReadData(zoo, read.Data)
	}
	d.Special, d.Adapted = read.Special, read.Adapted
	if err == nil {
		d.Spec, err = resolved(zoo, metadata[checkpoint.MetadataVersion], read.Model)
	}
	return d, errors.Wrapf(err, "%s: metadata %s: want a model description", path, checkpoint.MetadataConfig)
}

// resolved returns the model that a file with a format version describes.
func resolved(zoo models.Zoo, version string, text []byte) (models.Spec, error) {
	number, err := strconv.Atoi(version)
	if err != nil {
		return models.Spec{}, errors.WithStack(err)
	}
	c, err := zoo.UnmarshalVersion(number, text)
	if err != nil {
		return models.Spec{}, err
	}
	return c.Resolve()
}

// Metadata returns the description as the metadata of a model file.
func (d Description) Metadata() (map[string]string, error) {
	text, err := json.Marshal(d)
	return map[string]string{checkpoint.MetadataConfig: string(text)}, errors.WithStack(err)
}

// Tokenizer returns the tokenizer of the model. If the model only takes token ids, the error
// wraps ErrNoTokenizer.
func (d Description) Tokenizer() (data.Tokenizer, error) {
	if d.Data.Tokenizer == "" {
		return nil, errors.Wrapf(ErrNoTokenizer, "want token ids, each below %d, not text", d.Spec.Vocab)
	}
	t, err := data.TokenizerOf(d.Data.Source, d.Data.Tokenizer)
	if err == nil && d.ReadSpecial {
		t = data.ReadingSpecial(t)
	}
	return t, err
}

// check returns an error if Open could not read a model with this description.
func (d Description) check(store *graph.Store) error {
	if d.Spec.IsZero() {
		return errors.New("want a description with the model's Spec, got one without: models.Model.Spec returns it")
	}
	if d.Data.Tokenizer != "" {
		t, err := d.Tokenizer()
		if err != nil {
			return err
		}
		if err := data.CheckVocabulary(t, d.Spec.Vocab); err != nil {
			return err
		}
	}
	if err := models.CheckStore(store); err != nil {
		return err
	}
	if store.DType() != tensor.Float32 {
		return errors.Errorf("want a store of float32, got %v", store.DType())
	}
	return d.holds(store)
}

// holds returns an error unless a Store has exactly the model's parameters.
func (d Description) holds(store *graph.Store) error {
	if want, got := d.Spec.Cost().Parameters, store.Size(); want != got {
		return errors.Wrapf(ErrOtherModel, "the model has %d parameters, the store %d", want, got)
	}
	parameters := len(store.Params())
	if _, err := models.New(gorgonia.NewGraph(), d.Spec, graph.Options{Store: store}); err != nil {
		return err
	}
	if made := len(store.Params()) - parameters; made > 0 {
		return errors.Wrapf(ErrOtherModel, "the store lacks %d of the model's parameters", made)
	}
	return nil
}
